"""The key of a model's server: from a file, or from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from parley.errors import ConfigError

KEY_VARIABLE = "PARLEY_NES_API_KEY"
"""The variable that is read; those of other programs are for other servers."""


def read_api_key(
    file: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> str | None:
    """Return the key: what a file holds, else the variable; None if there is neither.

    Raises:
        ConfigError: The file cannot be read, or is empty.
    """
    if file is None:
        return (os.environ if environ is None else environ).get(KEY_VARIABLE) or None
    try:
        key = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the key in {file} cannot be read") from error
    if not key:
        raise ConfigError(f"there is no key in {file}")
    return key
