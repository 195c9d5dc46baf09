"""Paths in protocol messages, which are always absolute.

They belong to the machine of the session, which need not be this one. So both POSIX and Windows
paths are supported on every platform.
"""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath


def is_absolute(path: str) -> bool:
    """Return whether a path is absolute, on POSIX or on Windows."""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def resolve(cwd: str, path: str) -> str:
    """Return an absolute path; a relative one is resolved against the session's directory."""
    if is_absolute(path):
        return path
    flavour = PurePosixPath if PurePosixPath(cwd).is_absolute() else PureWindowsPath
    return str(flavour(cwd, path))
