"""Files of the workspace: read in whole or by lines, replaced in one step.

Spec: https://agentclientprotocol.com/protocol/v1/file-system
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import secrets
import stat
from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol

from parley.errors import InvalidParams, RequestError
from parley.schema import v2
from parley.session.diffs import make_diff

from .calling import called
from .roots import Place, refusal

if TYPE_CHECKING:
    from .session import Session
    from .workspace import Workspace, WorkspaceOptions

__all__ = ["MAX_FILE_BYTES", "READ_LIMIT_BYTES", "WRITE_LIMIT_BYTES", "Buffers", "Files"]

PREVIEW_LENGTH = 256 * 1024
"""A longer text is written without having been shown."""
READ_LIMIT_BYTES = 16 * 1024 * 1024
"""How much one read returns at most."""
WRITE_LIMIT_BYTES = 16 * 1024 * 1024
"""How much one write takes at most."""
MAX_FILE_BYTES = 1024 * 1024 * 1024
"""How long a file may be of which some lines are read."""
_BLOCK_BYTES = 1024 * 1024


class Buffers(Protocol):
    """What an editor has open and not saved; its functions may be plain or `async`."""

    def read(self, path: str, /) -> str | None | Awaitable[str | None]:
        """Return the text of a file as the editor shows it; None if it is not open there."""
        ...

    def write(self, path: str, content: str, /) -> bool | Awaitable[bool]:
        """Take a new text for a file, and tell whether it was taken."""
        ...


class Files:
    """Reads and writes text files in the roots of a session."""

    is_guarded = True
    """It asks `Workspace.permit` itself, about real paths."""

    def __init__(self, workspace: Workspace, options: WorkspaceOptions) -> None:
        self._workspace = workspace
        self._buffers = options.get("buffers")
        self._read_limit = options.get("read_limit_bytes", READ_LIMIT_BYTES)
        self._write_limit = options.get("write_limit_bytes", WRITE_LIMIT_BYTES)

    async def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        """Return the text of a file, or some lines of it.

        Args:
            path: Absolute.
            line: The first line, counted from 1; 0 is taken for 1.
            limit: How many lines at most.
            session: In whose roots it must be.

        Raises:
            ResourceNotFound: There is no such file.
            InvalidParams: It is not in the roots, no plain file of text, or too long.
            InvalidRequest: It was not allowed.
        """
        roots = self._workspace.roots_of(session)
        place = await asyncio.to_thread(roots.place, path)
        await self._workspace.permit(place.subject("read"), session)
        if self._buffers is not None:
            text = await called(self._buffers.read, place.path)
            if text is not None:
                data = self._part(io.BytesIO(text.encode()), line, limit, path)
                return _decoded(data, path)
        return await asyncio.to_thread(self._read, place, line, limit)

    async def write_text_file(self, path: str, content: str, session: Session) -> None:
        """Replace the text of a file; it and the directories that it is in are made if need be.

        Args:
            path: Absolute.
            content: All of the text.
            session: In whose roots it must be.

        Raises:
            InvalidParams: It is not in the roots, no plain file, or the text is too long.
            InvalidRequest: It was not allowed.
        """
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise InvalidParams("The text is no Unicode", {"path": path}) from None
        if len(data) > self._write_limit:
            problem = f"{len(data)} bytes are too many; at most {self._write_limit} are written"
            raise InvalidParams(problem, {"path": path})
        roots = self._workspace.roots_of(session)
        place = await asyncio.to_thread(roots.place, path)

        async def preview() -> v2.ToolCallContent | None:
            return await asyncio.to_thread(self._change, place, content)

        await self._workspace.permit(place.subject("edit"), session, preview)
        if self._buffers is None or not await called(self._buffers.write, place.path, content):
            await asyncio.to_thread(_write, place, data)

    def _change(self, place: Place, content: str) -> v2.ToolCallContent | None:
        """Return what a write would change, for the user to see."""
        if len(content) > PREVIEW_LENGTH:
            return None
        old: str | None = None
        with suppress(RequestError):  # it is not there, or it is no text
            old = self._read(place, None, None)
        is_short = old is None or len(old) <= PREVIEW_LENGTH
        return make_diff(place.path, old, content) if is_short else None

    def _read(self, place: Place, line: int | None, limit: int | None) -> str:
        path = place.asked
        try:
            with place.parent() as (directory, _):
                fd = place.open(directory, os.O_RDONLY)
            with os.fdopen(fd, "rb") as file:
                size = os.fstat(fd).st_size
                if size > MAX_FILE_BYTES:
                    raise InvalidParams(f"{path} is too long: {size} bytes", {"path": path})
                return _decoded(self._part(file, line, limit, path), path)
        except OSError as error:
            raise refusal(error, path, "read") from error

    def _part(self, file: BinaryIO, line: int | None, limit: int | None, path: str) -> bytes:
        """Read what was asked for, and no more than is allowed."""
        _skip(file, max(line or 1, 1) - 1)
        most = self._read_limit
        if limit is None:
            data = file.read(most + 1)
        else:
            kept = bytearray()
            while limit > 0 and (piece := file.readline(most + 1 - len(kept))):
                kept += piece
                limit -= piece.endswith(b"\n")
                if len(kept) > most:
                    break
            data = bytes(kept)
        if len(data) > most:
            problem = f"more than {most} bytes are not read at once; ask for fewer lines"
            raise InvalidParams(f"{path}: {problem}, with line and limit", {"path": path})
        return data


def _skip(file: BinaryIO, lines: int) -> None:
    """Leave lines behind, without keeping them."""
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


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidParams(f"{path} is no text in UTF-8", {"path": path}) from None


def _write(place: Place, data: bytes) -> None:
    if place.leads_through_dangling_link():
        problem = "leads through a link to nothing; nothing is made behind it"
        raise InvalidParams(f"{place.asked} {problem}", {"path": place.asked})
    try:
        with place.parent(create=True) as (directory, name):
            _replace(directory, name, data, _old(place, directory))
    except OSError as error:
        raise refusal(error, place.asked, "written") from error


def _old(place: Place, directory: int) -> os.stat_result | None:
    """Return what is known of the file that is there, if there is one that may be written."""
    try:
        fd = place.open(directory, os.O_WRONLY)
    except FileNotFoundError:
        return None
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _replace(directory: int, name: str, data: bytes, old: os.stat_result | None) -> None:
    """Write beside a file, then put it in the file's place: whatever fails, one of them is whole.

    Whoever puts a link in the file's place meanwhile loses the link: names are replaced, not what
    they lead to.
    """
    beside = f".{secrets.token_hex(16)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(beside, flags, 0o666 if old is None else 0o600, dir_fd=directory)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                _keep_owner(fd, old)
                os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)
            os.fsync(fd)
        os.rename(beside, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:  # also when interrupted: nothing is left beside the file
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=directory)
        raise
    with suppress(OSError):  # not every file system can; the file itself is safe
        os.fsync(directory)


def _keep_owner(fd: int, old: os.stat_result) -> None:
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EINVAL, errno.ENOSYS):
            raise
