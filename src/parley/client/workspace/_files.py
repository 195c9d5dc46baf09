"""The files of a workspace: read whole or by lines, replaced atomically.

Spec: https://agentclientprotocol.com/protocol/v1/file-system
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import secrets
import stat
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from parley.client._calling import call_maybe_async
from parley.errors import InvalidParams, RequestError
from parley.peer import reserve_response
from parley.schema import v2
from parley.session._diffs import make_diff

from ._roots import SafePath, file_error

if TYPE_CHECKING:
    from parley.client._session import Session

    from ._roots import Roots
    from ._workspace import Workspace, WorkspaceOptions


PREVIEW_LENGTH = 256 * 1024
"""Texts with more characters than this are written without a preview."""
PREVIEW_BYTES = 4 * PREVIEW_LENGTH
"""The same in bytes: a UTF-8 character has at most four."""
READ_LIMIT_BYTES = 16 * 1024 * 1024
"""The most that one read returns."""
WRITE_LIMIT_BYTES = 16 * 1024 * 1024
"""The most that one write accepts."""
MAX_FILE_BYTES = 1024 * 1024 * 1024
"""The largest file that is read at all, even for a few lines."""
_BLOCK_BYTES = 1024 * 1024
_SMALL_BYTES = 64 * 1024
"""Reads up to this size do not reserve space in the connection's budget for responses."""


class Buffers(Protocol):
    """An editor's unsaved text; the methods may be plain or `async`.

    Implement this and pass it to `Workspace` as `buffers=`, so that agents read and write the
    text that the user sees instead of the file on disk.
    """

    def read(self, path: str, /) -> str | None | Awaitable[str | None]:
        """Return the text of a file as the editor shows it; None if it is not open."""
        ...

    def write(self, path: str, content: str, /) -> bool | Awaitable[bool]:
        """Replace the text of a file and return True; return False to have it written to disk."""
        ...


class Files:
    """Reads and writes text files inside the roots of a session."""

    is_guarded = True
    """Its methods call `Workspace.permit` themselves, with real paths."""

    def __init__(
        self,
        workspace: Workspace,
        find_roots: Callable[[Session], Roots],
        options: WorkspaceOptions,
    ) -> None:
        self._workspace = workspace
        self._find_roots = find_roots
        self._buffers = options.get("buffers")
        self._read_limit = options.get("read_limit_bytes", READ_LIMIT_BYTES)
        self._write_limit = options.get("write_limit_bytes", WRITE_LIMIT_BYTES)

    async def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        """Return the text of a file, or some of its lines.

        Args:
            path: The absolute path.
            line: The first line, counted from 1; 0 means 1.
            limit: The maximum number of lines.
            session: The session whose roots must contain the file.

        Raises:
            ResourceNotFound: The file does not exist.
            InvalidParams: It is outside the roots, not a regular text file, or too long.
            InvalidRequest: It was not allowed.
        """
        roots = self._find_roots(session)
        safe_path = await asyncio.to_thread(roots.confine, path)
        await self._workspace.permit(safe_path.subject("read"), session)
        if self._buffers is not None:
            text = await call_maybe_async(self._buffers.read, safe_path.path)
            if text is not None:
                return await self._read_buffer(text, line, limit, path)
        return await self._read_file(safe_path, line, limit)

    async def _read_buffer(self, text: str, line: int | None, limit: int | None, path: str) -> str:
        if len(text) > _SMALL_BYTES:
            await reserve_response(min(len(text), self._read_limit))
        part = _read_lines(io.BytesIO(text.encode()), line, limit, self._read_limit)
        if part is None:
            raise self._too_long(path)
        return _decode(part, path)

    async def _read_file(self, safe_path: SafePath, line: int | None, limit: int | None) -> str:
        """Read the requested lines; a large read waits until the connection has room for it.

        A file's size may change at any time, so the limit is what was reserved, not what `stat`
        reports: a read stops there, and is repeated once more is reserved.
        """
        allowed_bytes = min(_SMALL_BYTES, self._read_limit)
        while True:
            found = await asyncio.to_thread(self._read, safe_path, line, limit, allowed_bytes)
            if isinstance(found, str):
                return found
            if allowed_bytes == self._read_limit:
                raise self._too_long(safe_path.requested)
            wanted_bytes = min(max(found, 2 * allowed_bytes), self._read_limit)
            await reserve_response(wanted_bytes - allowed_bytes)
            allowed_bytes = wanted_bytes

    async def write_text_file(self, path: str, content: str, session: Session) -> None:
        """Replace the text of a file; create it and its parent directories if needed.

        Args:
            path: The absolute path.
            content: The complete text.
            session: The session whose roots must contain the file.

        Raises:
            InvalidParams: It is outside the roots, not a regular file, or the text is too long.
            InvalidRequest: It was not allowed.
        """
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise InvalidParams("The text is not valid Unicode", {"path": path}) from None
        if len(data) > self._write_limit:
            problem = f"{len(data)} bytes are too many; the limit is {self._write_limit}"
            raise InvalidParams(problem, {"path": path})
        roots = self._find_roots(session)
        safe_path = await asyncio.to_thread(roots.confine, path)

        async def preview() -> v2.ToolCallContent | None:
            return await asyncio.to_thread(self._change, safe_path, content)

        await self._workspace.permit(safe_path.subject("edit"), session, preview)
        if self._buffers is None or not await call_maybe_async(
            self._buffers.write, safe_path.path, content
        ):
            await asyncio.to_thread(_write, safe_path, data)

    def _change(self, safe_path: SafePath, content: str) -> v2.ToolCallContent | None:
        """Return the diff that a write would make; None if it is too long to show."""
        if len(content) > PREVIEW_LENGTH:
            return None
        old: str | None = None
        with suppress(RequestError):  # it does not exist, or is not text
            found = self._read(safe_path, None, None, PREVIEW_BYTES)
            if isinstance(found, int):
                return None
            old = found
        is_short = old is None or len(old) <= PREVIEW_LENGTH
        return make_diff(safe_path.path, old, content) if is_short else None

    def _read(
        self, safe_path: SafePath, line: int | None, limit: int | None, allowed_bytes: int
    ) -> str | int:
        """Return the requested text, or the size of the file if the text exceeds the limit."""
        path = safe_path.requested
        try:
            with safe_path.parent() as (directory, _):
                fd = safe_path.open(directory, os.O_RDONLY)
            with os.fdopen(fd, "rb") as file:
                size = os.fstat(fd).st_size
                if size > MAX_FILE_BYTES:
                    raise InvalidParams(f"{path} is too long: {size} bytes", {"path": path})
                part = _read_lines(file, line, limit, allowed_bytes)
                return size if part is None else _decode(part, path)
        except OSError as error:
            raise file_error(error, path, "read") from error

    def _too_long(self, path: str) -> InvalidParams:
        problem = f"one read returns at most {self._read_limit} bytes; request fewer lines"
        return InvalidParams(f"{path}: {problem}, with line and limit", {"path": path})


def _read_lines(
    file: BinaryIO, line: int | None, limit: int | None, allowed_bytes: int
) -> bytes | None:
    """Read the requested lines; None if they exceed the limit."""
    _skip(file, max(line or 1, 1) - 1)
    if limit is None:
        data = file.read(allowed_bytes + 1)
    else:
        kept = bytearray()
        while limit > 0 and (piece := file.readline(allowed_bytes + 1 - len(kept))):
            kept += piece
            limit -= piece.endswith(b"\n")
            if len(kept) > allowed_bytes:
                break
        data = bytes(kept)
    return None if len(data) > allowed_bytes else data


def _skip(file: BinaryIO, lines: int) -> None:
    """Advance past this many lines, in constant memory."""
    while lines > 0 and (block := file.read(_BLOCK_BYTES)):
        found = block.count(b"\n")
        if found < lines:
            lines -= found
            continue
        end = 0
        for _ in range(lines):
            end = block.index(b"\n", end) + 1
        file.seek(end - len(block), os.SEEK_CUR)
        return


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidParams(f"{path} is not UTF-8 text", {"path": path}) from None


def _write(safe_path: SafePath, data: bytes) -> None:
    # `realpath` also resolves dangling links, so writing would create the file they point to.
    if safe_path.leads_through_dangling_link():
        problem = "leads through a dangling link; nothing is created there"
        raise InvalidParams(f"{safe_path.requested} {problem}", {"path": safe_path.requested})
    try:
        with safe_path.parent(create=True) as (directory, name):
            _replace(directory, name, data, _stat_existing(safe_path, directory))
    except OSError as error:
        raise file_error(error, safe_path.requested, "written") from error


def _stat_existing(safe_path: SafePath, directory: int) -> os.stat_result | None:
    """Return the status of an existing writable file; None if there is no file yet."""
    try:
        fd = safe_path.open(directory, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _replace(directory: int, name: str, data: bytes, old: os.stat_result | None) -> None:
    """Write a temporary file next to the target, then rename it over the target.

    If anything fails, either the old file or the new one is complete. A link that is put in the
    file's place meanwhile is itself replaced: `rename` acts on names, not on link targets.
    """
    temporary = f".{secrets.token_hex(16)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(temporary, flags, 0o666 if old is None else 0o600, dir_fd=directory)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_owner(fd, old)
                os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
            os.fsync(fd)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:  # also when interrupted: leave no temporary file
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=directory)
        raise
    with suppress(OSError):  # not every file system supports this; the file itself is safe
        os.fsync(directory)


def _keep_owner(fd: int, old: os.stat_result) -> None:
    """Give the new file the owner and group of the old one, where the system allows it."""
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL, errno.ENOSYS):
            raise
