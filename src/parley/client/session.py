"""A session as the client has it: prompts, what was said, and what can be changed about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from parley.errors import (
    AcpError,
    ConnectionClosed,
    LocalProtocolError,
    MalformedValue,
    Unsupported,
)
from parley.schema import v2
from parley.schema.v2 import methods
from parley.session.entries import ToolCall
from parley.session.transcript import Transcript

from .content import check_option, prompt_blocks
from .turn import Turn
from .turns import Turns

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Session"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Session:
    """One conversation; made by `Connection.new_session` and its siblings."""

    def __init__(
        self,
        connection: Connection,
        id: v2.SessionId,
        *,
        cwd: str | None = None,
        additional_directories: Sequence[str] = (),
    ) -> None:
        self.connection = connection
        """The connection to the agent."""
        self.id = id
        """The agent's id of it."""
        self.cwd = cwd
        """Where it works; None for a session that the agent began by itself."""
        self.additional_directories = list(additional_directories)
        """Further directories that it may work in."""
        self.transcript = Transcript()
        """Everything that was said so far, with commands, config options, usage and title."""
        self.is_closed = False
        """Whether it was closed or deleted here, or the connection has ended."""
        self.is_replaying = False
        """Whether the agent still tells what was said before the session was opened again."""
        self.turns = Turns(self)
        """The turns that have not ended."""
        self.telling: asyncio.Task[Any] | None = None
        """The task in which `on_update` is told of an update, while it is."""
        self._asking: dict[asyncio.Future[None], None] = {}
        self._asked: dict[int, ToolCall | None] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def prompt(self, *content: str | v2.ContentBlock, meta: dict[str, Any] | None = None) -> Turn:
        """Prompt the agent: `await` what this returns, or loop over it with `async for`.

        A prompt that is begun while another one runs is sent at once. The agent queues or refuses
        it; updates belong to the prompts in the order in which the agent accepted them.

        Args:
            content: Texts and other blocks, one after the other.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The agent does not take a block of this kind.
        """
        if self.is_closed:
            raise LocalProtocolError(f"the session {self.id} is closed")
        blocks = prompt_blocks(content, self.connection.features, self.connection.name)
        return Turn(self, v2.PromptRequest(session_id=self.id, prompt=blocks, meta=meta))

    async def ask(self, *content: str | v2.ContentBlock, meta: dict[str, Any] | None = None) -> str:
        """Prompt the agent and return what it says; why it stopped is not looked at."""
        return (await self.prompt(*content, meta=meta)).text

    async def until_idle(self) -> None:
        """Wait until the agent works on nothing here, whoever has asked for it.

        That may be a prompt of ours, or what a resumed session was doing.

        Raises:
            AcpError: The session or its connection has ended before.
        """
        while self.turns.first is not None or self.transcript.state != "idle":
            if self.turns.first is not None:
                await asyncio.wait({self.turns.first.begin()})
            elif self.is_closed:
                raise ConnectionClosed(f"the session {self.id} is closed")
            else:
                change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(change)
                await change

    async def cancel(self) -> None:
        """Stop what the session is doing; its turns then end as `cancelled`.

        Questions to the user that are still open are answered so at once.
        """
        self.turns.cancel()
        self._stop_asking()
        self.transcript.cancel_unfinished()
        if self.turns.is_sending:
            await asyncio.sleep(0)  # a prompt has a task that sends it, which goes first
        note = v2.CancelSessionNotification(session_id=self.id)
        await self.connection.surface.notify(methods.CANCEL_SESSION, note)

    async def close(self) -> None:
        """Close it: the agent stops its work and frees what it holds."""
        self._stop_asking()
        request = v2.CloseSessionRequest(session_id=self.id)
        await self.connection.surface.request(methods.CLOSE_SESSION, request)
        self.connection.forget(self)

    async def set_option(self, config_id: str, value: str | bool) -> list[v2.SessionConfigOption]:
        """Set a config option and return all options as they are then.

        Raises:
            LocalProtocolError: The option has no such value.
        """
        check_option(self.transcript.config_options, config_id, value)
        kind = (
            v2.SetSessionConfigBooleanRequest
            if isinstance(value, bool)
            else v2.SetSessionConfigValueRequest
        )
        params: Any = {"session_id": self.id, "config_id": config_id, "value": value}
        request = self.connection.surface.request
        answer = await request(
            methods.SET_SESSION_CONFIG_OPTION, kind(**params), on_result=self._options_set
        )
        return answer.config_options

    def _options_set(self, answer: v2.SetSessionConfigOptionResponse) -> None:
        """Fold the answer where it stands among the updates."""
        update = v2.ConfigOptionUpdate(config_options=answer.config_options)
        self.connection.peer.post(self.id, self.turns.take, update)

    def tool_call_of(self, request: v2.RequestPermissionRequest) -> ToolCall | None:
        """Return the tool call that a question is about, with all that was said of it so far.

        While the question is open, this is what was said before it came: what the agent says of the
        call meanwhile is not what the user is asked about.
        """
        if id(request) in self._asked:
            return self._asked[id(request)]
        match request.subject:
            case v2.ToolCallPermissionSubject(tool_call=call):
                return self.transcript.tool_calls.get(call.tool_call_id)
            case v2.CommandPermissionSubject(tool_call_id=str(named)):
                return self.transcript.tool_calls.get(named)
            case _:
                return None

    @contextmanager
    def holding(self, request: v2.RequestPermissionRequest) -> Generator[None]:
        """Have `tool_call_of` return the call as it is now, for as long as the block runs."""
        call = self.tool_call_of(request)
        if call is None and isinstance(request.subject, v2.ToolCallPermissionSubject):
            call = ToolCall(request.subject.tool_call.tool_call_id)  # a question of our own
            call.apply(request.subject.tool_call)
        self._asked[id(request)] = None if call is None else _copied(call)
        try:
            yield
        finally:
            del self._asked[id(request)]

    async def cancel_tool_call(self, tool_call_id: v2.ToolCallId) -> None:
        """Cancel one tool call.

        Raises:
            Unsupported: The agent does not say that this one can be cancelled.
        """
        call = self.transcript.tool_calls.get(tool_call_id)
        if call is None or not (call.capabilities and call.capabilities.cancel):
            raise Unsupported(f"the tool call {tool_call_id} cannot be cancelled by itself")
        request = v2.CancelToolCallRequest(session_id=self.id, tool_call_id=tool_call_id)
        await self.connection.surface.request(methods.CANCEL_TOOL_CALL, request)

    async def cancel_terminal(self, terminal_id: v2.TerminalId) -> None:
        """Cancel what runs in one terminal of the agent's.

        Raises:
            Unsupported: The agent does not say that this one can be cancelled.
        """
        terminal = self.transcript.terminals.get(terminal_id)
        if terminal is None or not (terminal.capabilities and terminal.capabilities.cancel):
            raise Unsupported(f"the terminal {terminal_id} cannot be cancelled by itself")
        request = v2.CancelTerminalRequest(session_id=self.id, terminal_id=terminal_id)
        await self.connection.surface.request(methods.CANCEL_TERMINAL, request)

    def apply(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Fold an update and tell the program; returns what to wait for before the next one."""
        try:
            self.transcript.fold(update)
        except MalformedValue as error:
            logger.warning("%s: cannot use an update: %s", self.connection.name, error)
        if self._waiting and isinstance(update, v2.StateUpdated):
            self._wake()
        on_update = self.connection.on_update
        return None if on_update is None else on_update(self, update)

    async def unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Wait for the user, but not beyond the end of the work that the question is about."""
        if self.turns.is_cancelling:
            work.close()
            return None
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asked = self.connection.spawn(work)
        self._asking[cancelled] = None
        try:
            waiting: set[asyncio.Future[Any]] = {asked, cancelled}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() and not cancelled.done() else None
        finally:
            del self._asking[cancelled]
            asked.cancel()

    def _stop_asking(self) -> None:
        for cancelled in self._asking:
            if not cancelled.done():
                cancelled.set_result(None)

    def _wake(self) -> None:
        """Have those look again who wait for the session to be idle."""
        waiting, self._waiting = self._waiting, []
        for change in waiting:
            if not change.done():
                change.set_result(None)

    def end(self, error: AcpError) -> None:
        """Fail what is under way: nothing more will come."""
        self.is_closed = True
        self._stop_asking()
        self._wake()
        self.turns.drop_all(error)

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.transcript!r})"


def _copied(call: ToolCall) -> ToolCall:
    """Return a tool call as it is now, untouched by what is said later."""
    copied = ToolCall(call.id)
    for update in call.replay():
        copied.apply(update)
    return copied
