"""What only version 1 has: files that the client reads and writes, and commands that it runs.

Loaded when it is first used, because it brings version 1's types along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from parley.errors import AcpError
from parley.schema import v1
from parley.schema.v1 import methods
from parley.session.surface import AgentSurface

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["ClientTerminal", "read_text_file", "write_text_file"]


async def read_text_file(
    surface: AgentSurface, session_id: str, path: str, *, line: int | None, limit: int | None
) -> str:
    """Return the text of a file as the client has it."""
    params = v1.ReadTextFileRequest(session_id=session_id, path=path, line=line, limit=limit)
    return (await surface.request(methods.READ_TEXT_FILE, params)).content


async def write_text_file(surface: AgentSurface, session_id: str, path: str, text: str) -> None:
    """Have the client write a file."""
    params = v1.WriteTextFileRequest(session_id=session_id, path=path, content=text)
    await surface.request(methods.WRITE_TEXT_FILE, params)


class ClientTerminal:
    """A command in a terminal of the client's, released at the end of its block."""

    def __init__(self, connection: Connection, request: v1.CreateTerminalRequest) -> None:
        self._connection = connection
        self._surface = connection.surface
        self._request = request
        self.id = ""
        """The client's id of it."""

    @classmethod
    def of(
        cls,
        connection: Connection,
        session_id: str,
        argv: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        output_limit_bytes: int | None,
    ) -> ClientTerminal:
        """Return a terminal for a command; it begins with its block."""
        request = v1.CreateTerminalRequest(
            session_id=session_id,
            command=argv[0],
            args=list(argv[1:]),
            env=[v1.EnvVariable(name=name, value=value) for name, value in env.items()],
            cwd=cwd,
            output_byte_limit=output_limit_bytes,
        )
        return cls(connection, request)

    async def __aenter__(self) -> ClientTerminal:
        creating = asyncio.create_task(self._create())
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:  # the client may create it all the same
            self._connection.keep(asyncio.create_task(self._release_late(creating)))
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.shield(self._release())

    async def output(self) -> v1.TerminalOutputResponse:
        """Return what it has written so far."""
        params = v1.TerminalOutputRequest(session_id=self._request.session_id, terminal_id=self.id)
        return await self._surface.request(methods.TERMINAL_OUTPUT, params)

    async def wait(self) -> v1.WaitForTerminalExitResponse:
        """Wait until the command has ended."""
        params = v1.WaitForTerminalExitRequest(
            session_id=self._request.session_id, terminal_id=self.id
        )
        return await self._surface.request(methods.WAIT_FOR_TERMINAL_EXIT, params)

    async def kill(self) -> None:
        """End the command; its output can still be read."""
        params = v1.KillTerminalRequest(session_id=self._request.session_id, terminal_id=self.id)
        await self._surface.request(methods.KILL_TERMINAL, params)

    async def _create(self) -> None:
        created = await self._surface.request(methods.CREATE_TERMINAL, self._request)
        self.id = created.terminal_id

    async def _release_late(self, creating: asyncio.Task[None]) -> None:
        with suppress(AcpError):  # there is no terminal, or nobody who could be told
            await creating
            await self._release()

    async def _release(self) -> None:
        params = v1.ReleaseTerminalRequest(session_id=self._request.session_id, terminal_id=self.id)
        await self._surface.request(methods.RELEASE_TERMINAL, params)
