"""Paths as they go on the wire: always absolute.

They belong to the machine of the session, which need not be ours, so both ways to write a path are
known here whatever we run on.
"""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

__all__ = ["below", "is_absolute"]


def is_absolute(path: str) -> bool:
    """Tell whether a path says all by itself where it is."""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def below(cwd: str, path: str) -> str:
    """Return an absolute path; a relative one is below the session's directory."""
    if is_absolute(path):
        return path
    flavour = PurePosixPath if PurePosixPath(cwd).is_absolute() else PureWindowsPath
    return str(flavour(cwd, path))
