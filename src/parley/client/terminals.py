"""Terminals of the workspace: commands that are run for the agent, without a shell.

What the user is asked about is what runs: see `line.py`. The ids are unguessable and valid in their
session only. What a command writes is in the session's transcript too, under `terminals`, where it
stays after the agent has released it.

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
from parley.session.entries import Terminal
from parley.transport.child import child_environment, why_not

from .command import Command
from .line import Line, line_of
from .roots import Place, refusal

if TYPE_CHECKING:
    from parley.schema import v1

    from .connection import Connection
    from .session import Session
    from .workspace import Workspace, WorkspaceOptions

__all__ = ["GRACE_AFTER", "MAX_TERMINALS", "OUTPUT_LIMIT_BYTES", "OnOutput", "Terminals"]

OUTPUT_LIMIT_BYTES = 1024 * 1024
"""How much output of a command is kept at most."""
MAX_TERMINALS = 32
"""How many commands may run at once."""
GRACE_AFTER = 2.0
"""How many seconds a command has to go when it is asked to."""
_HELD_FOR_EACH = 8
"""How many terminals may be held unreleased for each one that may run."""
_INNER_BYTES = bytes(range(0x80, 0xC0))

OnOutput: TypeAlias = Callable[["Session", str, bytes], object]
"""Sees what a command writes: its session, the terminal's id, the bytes."""


class _Held(NamedTuple):
    session: Session
    command: Command
    limit_bytes: int


class Terminals:
    """Runs commands in the roots of a session."""

    is_guarded = True
    """It asks `Workspace.permit` itself, about real paths."""

    def __init__(self, workspace: Workspace, options: WorkspaceOptions) -> None:
        self._workspace = workspace
        self._is_pty = options.get("pty", False)
        self._has_shell = options.get("shell", False)
        self._inherit = list(options.get("inherit", ()))
        self._on_output = options.get("on_output")
        self._limit_bytes = options.get("output_limit_bytes", OUTPUT_LIMIT_BYTES)
        self._most = options.get("max_terminals", MAX_TERMINALS)
        self._grace = options.get("grace_after", GRACE_AFTER)
        self._held: dict[str, _Held] = {}
        self._starting = 0

    async def create_terminal(
        self, request: v1.CreateTerminalRequest, session: Session
    ) -> Mapping[str, Any]:
        """Start a command, in the session's directory unless told otherwise.

        Raises:
            InvalidParams: It cannot be started, or its directory is not in the roots.
            InvalidRequest: It was not allowed.
            Overloaded: Too many run already.
        """
        roots = self._workspace.roots_of(session)
        where = roots.directories[0] if request.cwd is None else request.cwd
        place = await asyncio.to_thread(roots.place, where)
        line = line_of(request, place.path, shell=self._has_shell)
        subject = Subject(kind="execute", commands=(line.text,), cwd=place.path)
        await self._workspace.permit(subject, session)
        self._check_room()
        wish = request.output_byte_limit
        limit = self._limit_bytes if wish is None else min(wish, self._limit_bytes)
        terminal = Terminal(secrets.token_hex(16), limit)
        facts = v2.TerminalUpdate(terminal_id=terminal.id, command=line.text, cwd=place.path)
        terminal.apply(facts)
        self._starting += 1
        try:
            command = await self._start(line, place, terminal, session)
        finally:
            self._starting -= 1
        self._held[terminal.id] = _Held(session, command, limit)
        session.transcript.terminals[terminal.id] = terminal
        return {"terminalId": terminal.id}

    async def terminal_output(
        self, request: v1.TerminalOutputRequest, session: Session
    ) -> Mapping[str, Any]:
        """Return what a command has written so far, at once.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        held = self._find(request.terminal_id, session)
        terminal, ended = held.command.terminal, held.command.ended
        text, is_cut = _cut(terminal.text, held.limit_bytes)
        answer: dict[str, Any] = {"output": text, "truncated": is_cut or terminal.dropped_bytes > 0}
        if ended.done():
            answer["exitStatus"] = _shown(ended.result())
        return answer

    async def wait_for_terminal_exit(
        self, request: v1.WaitForTerminalExitRequest, session: Session
    ) -> Mapping[str, Any]:
        """Wait until a command has ended.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        held = self._find(request.terminal_id, session)
        return _shown(await asyncio.shield(held.command.ended))

    async def kill_terminal(self, request: v1.KillTerminalRequest, session: Session) -> None:
        """End a command and all that it has started; its output can still be read.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        await self._find(request.terminal_id, session).command.end(self._grace)

    async def release_terminal(self, request: v1.ReleaseTerminalRequest, session: Session) -> None:
        """End a command and all that it has started, and forget it.

        Raises:
            ResourceNotFound: The session has no such terminal.
        """
        held = self._find(request.terminal_id, session)
        del self._held[request.terminal_id]
        await held.command.end(self._grace)

    async def stop(self, session: Session, but: Collection[str] = ()) -> None:
        """End the commands of a session, except some; their output can still be read."""
        ours = [each for id, each in self._held.items() if id not in but]
        ending = [each.command.end(self._grace) for each in ours if each.session is session]
        await asyncio.gather(*ending)

    async def end_session(self, session: Session) -> None:
        """End and forget the commands of a session."""
        await self._end(lambda each: each is session)

    async def aclose(self, connection: Connection | None = None) -> None:
        """End and forget the commands of a connection, or all there are."""
        await self._end(lambda each: connection is None or each.connection is connection)

    async def _end(self, is_meant: Callable[[Session], bool]) -> None:
        ids = [id for id, held in self._held.items() if is_meant(held.session)]
        ending = [self._held.pop(id).command.end(self._grace) for id in ids]
        await asyncio.gather(*ending)

    def _find(self, id: str, session: Session) -> _Held:
        held = self._held.get(id)
        if held is None or held.session is not session:
            raise ResourceNotFound(f"There is no terminal {id:.100}", {"terminalId": id[:1000]})
        return held

    def _check_room(self) -> None:
        running = sum(not held.command.ended.done() for held in self._held.values())
        if running + self._starting >= self._most:
            raise Overloaded(f"{self._most} commands run already; kill or release one first")
        if len(self._held) + self._starting >= self._most * _HELD_FOR_EACH:
            raise Overloaded(f"{len(self._held)} terminals are held already; release some first")

    async def _start(
        self, line: Line, place: Place, terminal: Terminal, session: Session
    ) -> Command:
        def tell(data: bytes) -> None:
            if self._on_output is not None:
                self._on_output(session, terminal.id, data)

        try:
            directory = await asyncio.to_thread(place.open_directory)
        except OSError as error:
            raise refusal(error, place.asked, "entered") from error
        way = _way_to(directory, place)
        try:
            command = await Command.start(
                line.words,
                terminal,
                cwd=way,
                env=child_environment(line.env, self._inherit),
                on_output=tell,
                pty=self._is_pty,
            )
        except (OSError, ValueError) as error:
            raise InvalidParams(why_not(line.words, way, error)) from error
        finally:
            os.close(directory)
        if session.is_closed:  # meanwhile: nobody would end it
            await command.end(0)
            raise RequestCancelled(f"the session {session.id} was closed")
        return command


def _way_to(directory: int, place: Place) -> str:
    """Return a path by which a child enters exactly this directory, where the system has one."""
    exact = Path(f"/proc/self/fd/{directory}")
    return str(exact) if sys.platform == "linux" and exact.is_dir() else place.path


def _cut(text: str, limit_bytes: int) -> tuple[str, bool]:
    """Keep the end of a text, whole characters; U+FFFD may be longer than what it stands for."""
    data = text.encode()
    if len(data) <= limit_bytes:
        return text, False
    return data[len(data) - limit_bytes :].lstrip(_INNER_BYTES).decode(), True


def _shown(status: v2.TerminalExitStatus) -> Mapping[str, Any]:
    return {"exitCode": status.exit_code, "signal": status.signal}
