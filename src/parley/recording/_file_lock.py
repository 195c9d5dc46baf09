"""The lock on a recording that is being written: it ends with the process, however that ends.

Unlike the number of a process, it is never taken for that of another one. Where files cannot be
locked, every recording counts as ended.
"""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]


def lock(fd: int) -> None:
    """Lock a file until the file descriptor is closed.

    Raises:
        BlockingIOError: Another process, or another part of this one, has locked it.
        OSError: The file cannot be locked.
    """
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_locked(fd: int) -> bool:
    """Return whether a file is locked through another file descriptor."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # the file system has no locks
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False
