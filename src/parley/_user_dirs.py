"""The user's directories: configuration and state.

They follow the XDG base directories: `$XDG_CONFIG_HOME` or `~/.config` for files that the user
writes, `$XDG_STATE_HOME` or `~/.local/state` for files that Parley writes. A value that is not an
absolute path counts as absent. Looking up a directory does not create it.

A file that decides what runs, or what is allowed, must be writable by the user alone, as ssh
requires of its own files: `describe_exposure` reports files that others could have written.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path


def config_dir() -> Path:
    """Return the directory of the user's configuration."""
    return _base("XDG_CONFIG_HOME", ".config") / "parley"


def state_dir() -> Path:
    """Return the directory of sessions and remembered permission decisions."""
    return _base("XDG_STATE_HOME", ".local/state") / "parley"


def private_dir(path: Path) -> Path:
    """Create a directory that only its owner may enter; parents get the usual permissions.

    Raises:
        OSError: The directory cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _base(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else Path.home() / default  # noqa: PTH117 - "" too


def describe_exposure(path: Path) -> str | None:
    """Return why others could have written a file, and what to do; None if they could not.

    The file, its directory, and for a symbolic link also the directory of its target must belong to
    the user or to root, and nobody else may write to them. The same applies to the parent
    directories up to the home directory, since others could replace them. A group with no other
    members does not count, and neither does a sticky directory, where others cannot replace files.

    Raises:
        OSError: The file does not exist or cannot be examined.
    """
    if os.name != "posix":
        return None
    real = path.resolve()
    for each in dict.fromkeys((path, *_directories_of(path), *_directories_of(real))):
        found = each.stat()
        quoted = shlex.quote(str(each))
        if found.st_uid not in (0, os.geteuid()):
            return f"{each} belongs to another user. Check it, then run `sudo chown $USER {quoted}`"
        is_sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if not is_sticky and _is_written_by_others(found):
            return f"others may write to {each}. Check it, then run `chmod go-w {quoted}`"
    return None


def _directories_of(path: Path) -> list[Path]:
    """Return the directory of a file and its parents, up to the home directory."""
    homes = {Path.home(), Path.home().resolve()}
    above = list(path.parents)
    end = next((index for index, each in enumerate(above) if each in homes), 0)
    return above[: end + 1]


def _is_written_by_others(found: os.stat_result) -> bool:
    by_group = found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid)
    return bool(found.st_mode & stat.S_IWOTH or by_group)


def _is_own_group(gid: int) -> bool:
    """Return whether a group is the private group that many systems create for each user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:  # the user or the group has no name
        return False
    is_alone = set(group.gr_mem) <= {user.pw_name}
    return user.pw_gid == gid and group.gr_name == user.pw_name and is_alone
