"""The directories that a session may reach, and safe ways to open paths below them.

Theory of operation. A path is checked twice. First it is resolved, links included, and must lie in
one of the roots; the user is asked about this real path. The result may be outdated a moment later,
so nothing relies on it: the real path is then opened component by component, each relative to the
previous one and never through a link. If a directory is swapped for a link in between, opening
fails. A root is opened once, when the session begins; each use checks that its name still refers to
the same directory. The effect is that links inside the roots are followed and links out of them are
not.

Everything here blocks on the disk, so call it in a thread.
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

_DIRECTORY = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
"""The errors of opening a link with O_NOFOLLOW, which differ between systems."""
_LONGEST_PATH, _LONGEST_NAME = 4096, 255
_PSEUDO = ("/proc", "/sys", "/dev")


class Roots:
    """The directories that a session is confined to."""

    def __init__(self, directories: Sequence[str]) -> None:
        self.directories = list(directories)
        """The absolute paths as they were given, links not resolved."""
        self._real = {each: os.path.realpath(each) for each in directories}
        self._opened: dict[str, _Root] = {}
        self._lock = threading.Lock()
        for each in directories:  # now, before it can be replaced by something else
            self._open(each)

    def confine(self, path: str) -> SafePath:
        """Resolve a path and check that it is inside one of the roots.

        Raises:
            InvalidParams: It is not absolute, or leads out of the roots.
        """
        problem = _malformed(path)
        if problem is not None:
            raise InvalidParams(f"{path!r:.200} {problem}", {"path": path[:1000]})
        try:
            real = os.path.realpath(path)
        except (ValueError, OSError):  # OSError if a link is swapped at this moment
            raise InvalidParams(
                f"{path!r:.200} is not a valid path", {"path": path[:1000]}
            ) from None
        for root in filter(None, map(self._open, self.directories)):
            parts = root.parts_of(real)
            if parts is None:
                continue
            if not root.is_unchanged():
                problem = "is no longer the same directory; open the session again"
                raise InvalidParams(f"{root.directory} {problem}", {"path": path})
            return SafePath(root, parts, path)
        raise InvalidParams(
            f"{path:.1000} is outside the workspace, which is {self}",
            {"path": path[:1000], "roots": self.directories},
        )

    def _open(self, directory: str) -> _Root | None:
        """Return a root, opened on first use; None if it is missing or not a usable directory."""
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
    """An open directory; closed when the last reference, in any thread, is gone."""

    def __init__(self, directory: str, real: str) -> None:
        self.directory = directory
        self.path = real
        self.fd = os.open(real, _DIRECTORY)
        weakref.finalize(self, os.close, self.fd)
        if os.path.realpath(real) != real:  # it was created later, and a link leads to it
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _check_disk(self.fd)
        self._identity = _identity(os.fstat(self.fd))

    def is_unchanged(self) -> bool:
        """Return whether its name still refers to the same directory."""
        try:
            return _identity(os.stat(self.directory)) == self._identity  # noqa: PTH116 - no path object
        except OSError:
            return False

    def parts_of(self, real: str) -> tuple[str, ...] | None:
        """Return the components of a real path relative to this root; None if it is outside."""
        try:
            return Path(real).relative_to(self.path).parts
        except ValueError:
            return None


class SafePath(NamedTuple):
    """A path in a root, without links in it; it may not exist."""

    root: _Root
    parts: tuple[str, ...]
    requested: str
    """The path as the agent sent it."""

    @property
    def path(self) -> str:
        """The real path."""
        return os.path.join(self.root.path, *self.parts)  # noqa: PTH118 - text for a message

    def subject(self, kind: str) -> Subject:
        """Return the policy subject for an operation of this kind on this path."""
        spelled = () if self.requested == self.path else (self.requested,)
        return Subject(kind=kind, paths=(self.path,), mentioned=spelled)

    def open_directory(self) -> int:
        """Open this as a directory and return its descriptor.

        Raises:
            OSError: It does not exist, or a component is a link.
        """
        return _walk(self.root.fd, self.parts)

    @contextmanager
    def parent(self, *, create: bool = False) -> Generator[tuple[int, str]]:
        """Open the parent directory; yield its descriptor and the name in it.

        Raises:
            OSError: It does not exist, or a component is a link.
        """
        if not self.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        fd = _walk(self.root.fd, self.parts[:-1], create=create)
        try:
            yield fd, self.parts[-1]
        finally:
            os.close(fd)

    def open(self, directory: int, flags: int) -> int:
        """Open the file itself, relative to its parent directory, if it is a regular file.

        Raises:
            InvalidParams: It is not a regular file, or has a second name.
            OSError: It cannot be opened, or is a link.
        """
        name = self.parts[-1]
        seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
        check_regular(seen, self.requested)  # before opening: opening some devices has side effects
        fd = os.open(name, flags | _FILE, dir_fd=directory)
        try:
            check_regular(os.fstat(fd), self.requested)
        except BaseException:  # do not leak the descriptor
            os.close(fd)
            raise
        return fd

    def leads_through_dangling_link(self) -> bool:
        """Return whether the requested path contains a dangling link."""
        components = (self.requested, *map(str, Path(self.requested).parents))
        return any(os.path.islink(each) and not os.path.exists(each) for each in components)  # noqa: PTH110, PTH114 - Path's raise


def check_regular(found: os.stat_result, path: str) -> None:
    """Raise if a file is not a regular file with a single name.

    Raises:
        InvalidParams: It is a directory, a link, a pipe, a device, or has a second name.
    """
    mode, data = found.st_mode, {"path": path}
    if stat.S_ISDIR(mode):
        raise InvalidParams(f"{path} is a directory", data)
    if stat.S_ISLNK(mode):
        raise InvalidParams(f"{path} has become a link", data)
    if not stat.S_ISREG(mode):
        raise InvalidParams(f"{path} is not a regular file", data)
    if found.st_nlink > 1:  # 0: it has just been replaced
        problem = "has a second name (a hard link), which may be outside the workspace"
        raise InvalidParams(f"{path} {problem}", data)


def file_error(error: OSError, path: str, verb: str) -> RequestError:
    """Return the error response for an error from the operating system."""
    data = {"path": path[:1000]}
    if error.errno == errno.ENOENT:
        return ResourceNotFound(f"{path} does not exist", data)
    if error.errno == errno.EISDIR:
        return InvalidParams(f"{path} is a directory", data)
    if error.errno in _LINKS:
        return InvalidParams(
            f"{path} is reached through a link or a file, not through directories alone", data
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return InvalidParams(f"{path} may not be {verb}", data)
    if error.errno == errno.ENAMETOOLONG:
        return InvalidParams(f"{path:.200}… has a name that is too long", data)
    return InternalError(f"{path} could not be {verb}: {error.strerror}", data)


def _malformed(path: str) -> str | None:
    """Return why a path cannot be used; None if it can."""
    if path.startswith("file:"):
        return "is a URI; pass a path"
    if "\0" in path:
        return "contains a NUL character"
    if len(path) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in Path(path).parts):
        return "has a name that is too long"
    if os.open not in os.supports_dir_fd:
        return "cannot be opened safely on this system"
    return None if os.path.isabs(path) else "is not absolute"  # noqa: PTH117 - text of the agent's


def _walk(root: int, parts: Sequence[str], *, create: bool = False) -> int:
    """Open a directory below another one, component by component, and return its descriptor."""
    fd = os.dup(root)
    try:
        for part in parts:
            child_fd = _step(fd, part, create=create)
            os.close(fd)
            fd = child_fd
            _check_disk(fd)
    except BaseException:  # do not leak the descriptor
        os.close(fd)
        raise
    return fd


def _step(directory: int, name: str, *, create: bool) -> int:
    """Open a subdirectory, after creating it if it is missing and `create` is true."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):  # another process was faster
        os.mkdir(name, dir_fd=directory)
        os.fsync(directory)
    return os.open(name, _DIRECTORY, dir_fd=directory)


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _check_disk(fd: int) -> None:
    """Raise if a descriptor is on a pseudo file system such as `/proc`."""
    if os.fstat(fd).st_dev in _pseudo_devices():
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


@functools.cache
def _pseudo_devices() -> frozenset[int]:
    return frozenset(path.stat().st_dev for path in map(Path, _PSEUDO) if path.is_mount())
