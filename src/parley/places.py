"""Where Parley keeps what is the user's: configuration, state.

The rules are those of the XDG base directories: `$XDG_CONFIG_HOME` or `~/.config` for what the user
writes, `$XDG_STATE_HOME` or `~/.local/state` for what Parley remembers. A value that is no absolute
path counts as absent. Nothing is made by asking.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["config_dir", "private_dir", "state_dir"]


def config_dir() -> Path:
    """Return where the user's configuration is."""
    return _base("XDG_CONFIG_HOME", ".config") / "parley"


def state_dir() -> Path:
    """Return where sessions and remembered answers are kept."""
    return _base("XDG_STATE_HOME", ".local/state") / "parley"


def private_dir(path: Path) -> Path:
    """Make a directory that only its owner may enter, and those above it as usual.

    Raises:
        OSError: It cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _base(variable: str, usual: str) -> Path:
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else Path.home() / usual  # noqa: PTH117 - "" too
