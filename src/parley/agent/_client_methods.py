"""Methods of the client that only version 1 has: reading and writing files, running commands.

Imported on first use, because it imports the version 1 types.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from parley.errors import AcpError
from parley.schema import v1
from parley.schema.base import JsonObject
from parley.schema.v1 import methods

from ._activity import warn_not_entered

if TYPE_CHECKING:
    from ._session_state import AgentSessionState


async def read_text_file(
    session: AgentSessionState,
    path: str,
    *,
    line: int | None,
    limit: int | None,
    meta: JsonObject | None = None,
) -> str:
    """Return the text of a file as the client has it, including unsaved changes."""
    params = v1.ReadTextFileRequest(
        session_id=session.id, path=path, line=line, limit=limit, meta=meta
    )
    return (await session.adapter.request(methods.READ_TEXT_FILE, params)).content


async def write_text_file(
    session: AgentSessionState,
    path: str,
    text: str,
    *,
    meta: JsonObject | None = None,
) -> None:
    """Write a file through the client."""
    params = v1.WriteTextFileRequest(session_id=session.id, path=path, content=text, meta=meta)
    await session.adapter.request(methods.WRITE_TEXT_FILE, params)


def client_terminal(
    session: AgentSessionState,
    argv: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str],
    output_limit_bytes: int | None,
    meta: JsonObject | None = None,
) -> ClientTerminal:
    """Return a terminal for a command, which starts when its block is entered."""
    request = v1.CreateTerminalRequest(
        session_id=session.id,
        command=argv[0],
        args=list(argv[1:]),
        env=[v1.EnvVariable(name=name, value=value) for name, value in env.items()],
        cwd=cwd,
        output_byte_limit=output_limit_bytes,
        meta=meta,
    )
    return ClientTerminal(session, request)


class ClientTerminal:
    """A command that runs in a terminal on the client's side; returned by `turn.run`.

    Use it as an async context manager: entering the block starts the command, leaving it ends the
    command and releases the terminal. `wait` waits for the exit, `output` returns the output so
    far, and `kill` ends the command but keeps the output.
    """

    def __init__(self, session: AgentSessionState, request: v1.CreateTerminalRequest) -> None:
        self._session = session
        self._adapter = session.adapter
        self._request = request
        self.id = ""
        """The id that the client gave the terminal; empty before the block."""
        self._is_released = False
        self._is_entered = False

    def __del__(self) -> None:
        if not self._is_entered:
            warn_not_entered("client terminal", self)

    async def __aenter__(self) -> ClientTerminal:
        self._is_entered = True
        tasks = self._session.server.tasks
        creating = tasks.create_task(self._create())
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:  # the client may still create it; release it then
            tasks.create_task(self._release_late(creating))
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_released:
            await asyncio.shield(self.release())

    async def output(self, *, meta: JsonObject | None = None) -> v1.TerminalOutputResponse:
        """Return the output so far."""
        params = v1.TerminalOutputRequest(
            session_id=self._request.session_id, terminal_id=self.id, meta=meta
        )
        return await self._adapter.request(methods.TERMINAL_OUTPUT, params)

    async def wait(self, *, meta: JsonObject | None = None) -> v1.WaitForTerminalExitResponse:
        """Wait for the command to exit, and return its exit status."""
        params = v1.WaitForTerminalExitRequest(
            session_id=self._request.session_id, terminal_id=self.id, meta=meta
        )
        return await self._adapter.request(methods.WAIT_FOR_TERMINAL_EXIT, params)

    async def kill(self, *, meta: JsonObject | None = None) -> None:
        """Kill the command; its output can still be read."""
        params = v1.KillTerminalRequest(
            session_id=self._request.session_id, terminal_id=self.id, meta=meta
        )
        await self._adapter.request(methods.KILL_TERMINAL, params)

    async def release(self, *, meta: JsonObject | None = None) -> None:
        """Kill the command and release the terminal now instead of at the end of the block."""
        self._is_released = True
        params = v1.ReleaseTerminalRequest(
            session_id=self._request.session_id, terminal_id=self.id, meta=meta
        )
        await self._adapter.request(methods.RELEASE_TERMINAL, params)

    async def _create(self) -> None:
        created = await self._adapter.request(methods.CREATE_TERMINAL, self._request)
        self.id = created.terminal_id

    async def _release_late(self, creating: asyncio.Task[None]) -> None:
        with suppress(AcpError):  # no terminal was created, or the connection is closed
            await creating
            await self.release()
