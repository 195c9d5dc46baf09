"""The terminals of a workspace: commands that run for the agent, without a shell.

The command line that the user is asked about is exactly what runs, see `_command_line.py`. Terminal
ids are unguessable and valid only in their session. The output is also in the session's transcript,
under `terminals`, where it stays after the agent releases the terminal.

Spec: https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parley.errors import InvalidParams, Overloaded, RequestCancelled, ResourceNotFound
from parley.policy import Subject
from parley.schema import v2
from parley.session._transcript_entries import TerminalEntry
from parley.transport._child_process import child_environment, describe_spawn_error

from ._command import RunningCommand
from ._command_line import CommandLine, command_line_of
from ._roots import SafePath, file_error

if TYPE_CHECKING:
    from parley.client._connection import Connection
    from parley.client._session import Session
    from parley.schema import v1

    from ._roots import Roots
    from ._workspace import Workspace, WorkspaceOptions


OUTPUT_LIMIT_BYTES = 1024 * 1024
"""The most output kept per command."""
MAX_TERMINALS = 32
"""The number of commands that may run at once."""
GRACE_AFTER = 2.0
"""The seconds that a command has to exit after SIGTERM."""
_OPEN_PER_RUNNING = 8
"""Unreleased terminals that may exist, as a multiple of those that may run at once."""
_INNER_BYTES = bytes(range(0x80, 0xC0))

OnOutput: TypeAlias = Callable[["Session", str, bytes], object]
"""Called with output of a command: the session, the terminal id, the bytes."""


class _OpenTerminal(NamedTuple):
    session: Session
    command: RunningCommand
    limit_bytes: int


class TerminalManager:
    """Runs commands inside the roots of a session."""

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
        self._is_pty = options.get("pty", False)
        self._has_shell = options.get("shell", False)
        self._inherit = list(options.get("inherit", ()))
        self._on_output = options.get("on_output")
        self._limit_bytes = options.get("output_limit_bytes", OUTPUT_LIMIT_BYTES)
        self._max_running = options.get("max_terminals", MAX_TERMINALS)
        self._grace = options.get("grace_after", GRACE_AFTER)
        self._terminals: dict[str, _OpenTerminal] = {}
        self._starting = 0

    async def create_terminal(
        self, request: v1.CreateTerminalRequest, session: Session
    ) -> Mapping[str, Any]:
        """Start a command, by default in the session's directory.

        Raises:
            InvalidParams: It cannot be started, or its directory is outside the roots.
            InvalidRequest: It was not allowed.
            Overloaded: Too many commands are running, or too many terminals are unreleased.
        """
        roots = self._find_roots(session)
        cwd = roots.directories[0] if request.cwd is None else request.cwd
        safe_path = await asyncio.to_thread(roots.confine, cwd)
        line = command_line_of(request, safe_path.path, shell=self._has_shell)
        subject = Subject(kind="execute", commands=(line.text,), cwd=safe_path.path)
        await self._workspace.permit(subject, session)
        self._check_room()
        requested_limit = request.output_byte_limit
        limit = (
            self._limit_bytes
            if requested_limit is None
            else min(requested_limit, self._limit_bytes)
        )
        terminal = TerminalEntry(secrets.token_hex(16), limit)
        description = v2.TerminalUpdate(
            terminal_id=terminal.id, command=line.text, cwd=safe_path.path
        )
        terminal.apply(description)
        self._starting += 1
        try:
            command = await self._start(line, safe_path, terminal, session)
        finally:
            self._starting -= 1
        # `_start` does not return for a closed session, so `end_session` cannot miss this one.
        self._terminals[terminal.id] = _OpenTerminal(session, command, limit)
        session.transcript.terminals[terminal.id] = terminal
        return {"terminalId": terminal.id}

    async def terminal_output(
        self, request: v1.TerminalOutputRequest, session: Session
    ) -> Mapping[str, Any]:
        """Return what a command has written so far, without waiting.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        found = self._find(request.terminal_id, session)
        terminal, ended = found.command.terminal, found.command.ended
        text, is_truncated = _truncate(terminal.text, found.limit_bytes)
        response: dict[str, Any] = {
            "output": text,
            "truncated": is_truncated or terminal.dropped_bytes > 0,
        }
        if ended.done():
            response["exitStatus"] = _exit_fields(ended.result())
        return response

    async def wait_for_terminal_exit(
        self, request: v1.WaitForTerminalExitRequest, session: Session
    ) -> Mapping[str, Any]:
        """Wait until a command has ended and return its exit status.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        found = self._find(request.terminal_id, session)
        return _exit_fields(await asyncio.shield(found.command.ended))

    async def kill_terminal(self, request: v1.KillTerminalRequest, session: Session) -> None:
        """End a command and all processes that it started; its output stays readable.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        await self._find(request.terminal_id, session).command.end(self._grace)

    async def release_terminal(self, request: v1.ReleaseTerminalRequest, session: Session) -> None:
        """End a command and all processes that it started, and discard the terminal.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        found = self._find(request.terminal_id, session)
        del self._terminals[request.terminal_id]
        await found.command.end(self._grace)

    async def stop_commands(self, session: Session, keep: Collection[str] = ()) -> None:
        """End the commands of a session except those in `keep`; their output stays readable."""
        others = [each for id, each in self._terminals.items() if id not in keep]
        ending = [each.command.end(self._grace) for each in others if each.session is session]
        await asyncio.gather(*ending)

    async def end_session(self, session: Session) -> None:
        """End the commands of a session and discard its terminals."""
        await self._end(lambda each: each is session)

    async def aclose(self, connection: Connection | None = None) -> None:
        """End the commands of one connection, or of all, and discard their terminals."""
        await self._end(lambda each: connection is None or each.connection is connection)

    async def _end(self, is_selected: Callable[[Session], bool]) -> None:
        ids = [id for id, found in self._terminals.items() if is_selected(found.session)]
        ending = [self._terminals.pop(id).command.end(self._grace) for id in ids]
        await asyncio.gather(*ending)

    def _find(self, id: str, session: Session) -> _OpenTerminal:
        found = self._terminals.get(id)
        if found is None or found.session is not session:
            raise ResourceNotFound(f"There is no terminal {id:.100}", {"terminalId": id[:1000]})
        return found

    def _check_room(self) -> None:
        """Raise `Overloaded` if another terminal would exceed a limit."""
        running = sum(not found.command.ended.done() for found in self._terminals.values())
        if running + self._starting >= self._max_running:
            raise Overloaded(
                f"{self._max_running} commands are already running; kill or release one first"
            )
        if len(self._terminals) + self._starting >= self._max_running * _OPEN_PER_RUNNING:
            raise Overloaded(
                f"{len(self._terminals)} terminals are already open; release some first"
            )

    async def _start(
        self, line: CommandLine, safe_path: SafePath, terminal: TerminalEntry, session: Session
    ) -> RunningCommand:
        def forward_output(data: bytes) -> None:
            if self._on_output is not None:
                self._on_output(session, terminal.id, data)

        try:
            directory = await asyncio.to_thread(safe_path.open_directory)
        except OSError as error:
            raise file_error(error, safe_path.requested, "entered") from error
        path = _path_of(directory, safe_path)
        try:
            command = await RunningCommand.start(
                line.words,
                terminal,
                cwd=path,
                env=child_environment(line.env, self._inherit),
                on_output=forward_output,
                pty=self._is_pty,
            )
        except (OSError, ValueError) as error:
            raise InvalidParams(describe_spawn_error(line.words, path, error)) from error
        finally:
            os.close(directory)
        if session.is_closed:  # closed meanwhile, so nothing else would end the command
            await command.end(0)
            raise RequestCancelled(f"the session {session.id} was closed")
        return command


def _path_of(directory: int, safe_path: SafePath) -> str:
    """Return a path that leads a child to exactly this open directory, if the system has one."""
    exact = Path(f"/proc/self/fd/{directory}")
    return str(exact) if sys.platform == "linux" and exact.is_dir() else safe_path.path


def _truncate(text: str, limit_bytes: int) -> tuple[str, bool]:
    """Keep the end of a text, in whole characters.

    The stored output is already limited, but U+FFFD may be longer than the bytes it replaces.
    """
    data = text.encode()
    if len(data) <= limit_bytes:
        return text, False
    return data[len(data) - limit_bytes :].lstrip(_INNER_BYTES).decode(), True


def _exit_fields(status: v2.TerminalExitStatus) -> Mapping[str, Any]:
    return {"exitCode": status.exit_code, "signal": status.signal}
