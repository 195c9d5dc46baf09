"""The directories that a session may reach, and how something below them is opened.

Theory of operation. A path is asked for twice. First it is made real, links included, and has to
lie in one of the roots; what it is then is what the user is asked about. This look may be outdated
a moment later, so nothing rests on it: the real path is then opened part by part, each relative to
the directory before it and none through a link. Who swaps a directory for a link in between gets an
error. A root is opened once, when the session begins; whether it is still the directory of that
name is looked at each time. Links that stay within the roots are followed by this, those that leave
them are not.

Everything here waits for the disk and belongs into a thread.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from parley.errors import InternalError, InvalidParams, RequestError, ResourceNotFound
from parley.policy import Subject

__all__ = ["Place", "Roots", "check_regular", "refusal"]

_DIRECTORY = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
_LONGEST_PATH, _LONGEST_NAME = 4096, 255
_PSEUDO = ("/proc", "/sys", "/dev")


class Roots:
    """Directories, and nothing outside of them."""

    def __init__(self, directories: Sequence[str]) -> None:
        self.directories = list(directories)
        """As they were given, absolute."""
        self._real = {each: os.path.realpath(each) for each in directories}
        self._opened: dict[str, _Root] = {}
        self._lock = threading.Lock()
        for each in directories:  # before anybody can put something else in its place
            self._open(each)

    def place(self, path: str) -> Place:
        """Find where a path leads.

        Raises:
            InvalidParams: It is no absolute path, or leads out of the roots.
        """
        problem = _malformed(path)
        if problem is not None:
            raise InvalidParams(f"{path!r:.200} {problem}", {"path": path[:1000]})
        try:
            real = os.path.realpath(path)
        except (ValueError, OSError):  # the latter where a link is swapped at this moment
            raise InvalidParams(f"{path!r:.200} is no path", {"path": path[:1000]}) from None
        for root in filter(None, map(self._open, self.directories)):
            parts = root.parts_of(real)
            if parts is None:
                continue
            if not root.is_there():
                problem = "is no longer the directory that it was; open the session again"
                raise InvalidParams(f"{root.given} {problem}", {"path": path})
            return Place(root, parts, path)
        raise InvalidParams(
            f"{path:.1000} is outside of the workspace, which is {self}",
            {"path": path[:1000], "roots": self.directories},
        )

    def _open(self, directory: str) -> _Root | None:
        """Return a root; None if it is not there, or nothing to work in."""
        with self._lock:
            if directory not in self._opened:
                try:
                    self._opened[directory] = _Root(directory, self._real[directory])
                except OSError:
                    return None
            return self._opened[directory]

    def __str__(self) -> str:
        return " and ".join(self.directories) or "empty"


class _Root:
    """A directory, open as long as somebody uses this object, threads included."""

    def __init__(self, given: str, real: str) -> None:
        self.given = given
        self.path = real
        self.fd = os.open(real, _DIRECTORY)
        weakref.finalize(self, os.close, self.fd)
        if os.path.realpath(real) != real:  # it was made later, behind a link
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _check_disk(self.fd)
        self._identity = _identity(os.fstat(self.fd))

    def is_there(self) -> bool:
        """Tell whether its name still leads to it."""
        try:
            return _identity(os.stat(self.given)) == self._identity  # noqa: PTH116 - no path object
        except OSError:
            return False

    def parts_of(self, real: str) -> tuple[str, ...] | None:
        """Return the way from here to a real path; None if it is not below."""
        try:
            return Path(real).relative_to(self.path).parts
        except ValueError:
            return None


class Place(NamedTuple):
    """Something in a root, which may not exist: the way to it, with no link in it."""

    root: _Root
    parts: tuple[str, ...]
    asked: str
    """The path as the agent has spelled it."""

    @property
    def path(self) -> str:
        """The real path."""
        return os.path.join(self.root.path, *self.parts)  # noqa: PTH118 - text for a message

    def subject(self, kind: str) -> Subject:
        """Return what a guard is asked about."""
        spelled = () if self.asked == self.path else (self.asked,)
        return Subject(kind=kind, paths=(self.path,), mentioned=spelled)

    def open_directory(self) -> int:
        """Open this as a directory; returns its descriptor.

        Raises:
            OSError: It is not there, or a link stands in the way.
        """
        return _walk(self.root.fd, self.parts)

    @contextmanager
    def parent(self, *, create: bool = False) -> Generator[tuple[int, str]]:
        """Open the directory that this is in; yields it and the name in it.

        Raises:
            OSError: It is not there, or a link stands in the way.
        """
        if not self.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        fd = _walk(self.root.fd, self.parts[:-1], create=create)
        try:
            yield fd, self.parts[-1]
        finally:
            os.close(fd)

    def open(self, directory: int, flags: int) -> int:
        """Open the file itself, in the directory that it is in, if it is a plain one.

        Raises:
            InvalidParams: It is no regular file, or has a second name.
            OSError: It cannot be opened, or is a link.
        """
        name = self.parts[-1]
        seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
        check_regular(seen, self.asked)  # before it is opened: some devices do something then
        fd = os.open(name, flags | _FILE, dir_fd=directory)
        try:
            check_regular(os.fstat(fd), self.asked)
        except BaseException:  # whatever it is, the file is not left open
            os.close(fd)
            raise
        return fd

    def leads_through_dangling_link(self) -> bool:
        """Tell whether what was asked for is named by a link to nothing."""
        way = (self.asked, *map(str, Path(self.asked).parents))
        return any(os.path.islink(each) and not os.path.exists(each) for each in way)  # noqa: PTH110, PTH114 - Path's raise


def check_regular(found: os.stat_result, path: str) -> None:
    """Refuse what is no plain file.

    Raises:
        InvalidParams: It is a directory, a link, a pipe, a device, or has a second name.
    """
    mode, data = found.st_mode, {"path": path}
    if stat.S_ISDIR(mode):
        raise InvalidParams(f"{path} is a directory", data)
    if stat.S_ISLNK(mode):
        raise InvalidParams(f"{path} has become a link", data)
    if not stat.S_ISREG(mode):
        raise InvalidParams(f"{path} is no regular file", data)
    if found.st_nlink > 1:  # 0: it has just been replaced
        problem = "has a second name (a hard link), which may be outside of the workspace"
        raise InvalidParams(f"{path} {problem}", data)


def refusal(error: OSError, path: str, verb: str) -> RequestError:
    """Return what the agent is told when the system refuses."""
    data = {"path": path[:1000]}
    if error.errno == errno.ENOENT:
        return ResourceNotFound(f"There is no {path}", data)
    if error.errno == errno.EISDIR:
        return InvalidParams(f"{path} is a directory", data)
    if error.errno in _LINKS:
        return InvalidParams(f"{path} is not reached through directories alone", data)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return InvalidParams(f"{path} may not be {verb}", data)
    if error.errno == errno.ENAMETOOLONG:
        return InvalidParams(f"{path:.200}… has a name that is too long", data)
    return InternalError(f"{path} could not be {verb}: {error.strerror}", data)


def _malformed(path: str) -> str | None:
    if path.startswith("file:"):
        return "is an address; give a path"
    if "\0" in path:
        return "has a NUL in it"
    if len(path) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in Path(path).parts):
        return "has a name that is too long"
    if os.open not in os.supports_dir_fd:
        return "cannot be opened safely on this system"
    return None if os.path.isabs(path) else "is not absolute"  # noqa: PTH117 - text of the agent's


def _walk(root: int, parts: Sequence[str], *, create: bool = False) -> int:
    """Open a directory below another one, part by part; returns its descriptor."""
    fd = os.dup(root)
    try:
        for part in parts:
            below = _step(fd, part, create=create)
            os.close(fd)
            fd = below
            _check_disk(fd)
    except BaseException:  # likewise
        os.close(fd)
        raise
    return fd


def _step(directory: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # another one was faster
        os.mkdir(name, dir_fd=directory)
        os.fsync(directory)
    return os.open(name, _DIRECTORY, dir_fd=directory)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _check_disk(fd: int) -> None:
    """Refuse what the kernel makes up."""
    if os.fstat(fd).st_dev in _pseudo_devices():
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


@functools.cache
def _pseudo_devices() -> frozenset[int]:
    return frozenset(path.stat().st_dev for path in map(Path, _PSEUDO) if path.is_mount())
