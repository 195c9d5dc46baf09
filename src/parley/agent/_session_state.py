"""`AgentSessionState`: the part of a session that Parley drives; `AgentSession` is the view.

The state records and sends updates, holds them back while the session is being opened, and knows
the running turn and the open activities. The session manager, the turns and the activities all work
on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from parley.schema import v2
from parley.schema._custom_values import check_custom_values
from parley.schema.base import JsonObject
from parley.schema.v2 import methods
from parley.session._transcript import Transcript

from ._store import StoredSession, new_id

if TYPE_CHECKING:
    from parley.mcp._clients import McpClients

    from ._activity import Activity
    from ._connection_server import ConnectionServer
    from ._turn import TurnState


EMPTY_TEXT = v2.TextContent(text="")
"""Copied for each chunk of text: copying takes half the time of creating."""

Chunk = TypeVar("Chunk", v2.AgentMessageChunk, v2.AgentThoughtChunk)


class OpenActivity(NamedTuple):
    """A running tool call, terminal or subagent of a session."""

    activity: Activity
    task: asyncio.Task[Any] | None
    """The task that runs its block."""
    background: v2.BackgroundWork
    """Its entry in the list of work that continues after the end of a turn."""
    abandon: Callable[[], Awaitable[None]]
    """Reports its end, because its task did not end when it was cancelled."""
    child: AgentSessionState | None = None
    """The session of a subagent."""


class AgentSessionState:
    """The state of an open session, or of the session of a subagent."""

    def __init__(
        self,
        server: ConnectionServer,
        stored: StoredSession,
        *,
        mcp_servers: Sequence[v2.McpServer] = (),
        parent: AgentSessionState | None = None,
    ) -> None:
        """Create the state of a session.

        Args:
            server: The connection on which the session is open.
            stored: The record that the store saves.
            mcp_servers: The MCP servers that the client wants the agent to use.
            parent: For a subagent, the session that it works for. Its session is not stored.
        """
        self.server = server
        self.adapter = server.adapter
        """Sends requests and notifications to the client, in version 2 types."""
        self.stored = stored
        self.id = stored.id
        self.transcript: Transcript = stored.transcript
        self.mcp_servers = list(mcp_servers)
        self.turn: TurnState | None = None
        """The running turn, if there is one."""
        self.activities: dict[str, OpenActivity] = {}
        """The running tool calls, terminals and subagents, by id."""
        self.is_opening = False
        """Whether it is still being opened, and the client does not know it yet."""
        self.chunk: v2.AgentMessageChunk | v2.AgentThoughtChunk | None = None
        """An empty chunk of the current message, which `say` and `think` copy."""
        self._parent = parent
        self._append = server.settings.store.append if parent is None else _discard
        self._held: deque[v2.SessionUpdate | v2.UpdateSessionNotification] | None = None
        self._mcp_clients: McpClients | None = None
        self._pending_questions = 0
        self._has_reported_background = False

    def emit(
        self, update: v2.SessionUpdate, meta: JsonObject | None = None
    ) -> Coroutine[Any, Any, None]:
        """Record an update and send it, with `meta` as the `_meta` of the notification.

        Not a coroutine function: the transcript and the store have the update even before the
        returned coroutine is awaited.
        """
        self.transcript.fold(update)
        self._append(self.id, update)
        if self._held is None and meta is None:
            return self.adapter.update(self.id, update)
        message: v2.SessionUpdate | v2.UpdateSessionNotification = update
        if meta is not None:
            message = v2.UpdateSessionNotification(session_id=self.id, update=update, meta=meta)
        if self._held is None:
            return self.send(message)
        self._held.append(message)
        return _do_nothing()

    def update(self, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Check the custom values of an update, record it and send it.

        Raises:
            LocalProtocolError: A value is neither in the protocol nor starts with an underscore.
        """
        check_custom_values(update)
        return self.emit(update)

    def record(self, update: v2.SessionUpdate) -> None:
        """Add an update to the transcript and the store without sending it.

        Used for what the client gets in another way, such as in a response.
        """
        self.transcript.fold(update)
        self._append(self.id, update)

    async def emit_unless_in_response(self, update: v2.SessionUpdate) -> None:
        """Send an update, except while updates are held back: then the response includes it.

        Raises:
            LocalProtocolError: A value is neither in the protocol nor starts with an underscore.
        """
        check_custom_values(update)
        if self._held is None:
            await self.emit(update)
        else:
            self.record(update)

    def send(
        self, update: v2.SessionUpdate | v2.UpdateSessionNotification
    ) -> Coroutine[Any, Any, None]:
        """Send an update that is already recorded."""
        if isinstance(update, v2.UpdateSessionNotification):
            return self.adapter.notify(methods.UPDATE_SESSION, update)
        return self.adapter.update(self.id, update)

    def begin_message(self, kind: type[Chunk]) -> Chunk:
        """Begin a message or a thought; return its empty chunk."""
        chunk = self.chunk = kind(message_id=new_id("message"), content=EMPTY_TEXT)
        return chunk

    def end_message(self) -> None:
        """End the current message; the next `say` or `think` begins a new one."""
        self.chunk = None

    def hold_updates(self) -> None:
        """Hold updates back until the response that names the session has been sent."""
        self._held = deque()
        self.is_opening = True

    def discard_updates(self) -> None:
        """Discard updates instead of sending them: the client does not know this session."""
        self._held = deque(maxlen=0)

    async def release_updates(self) -> None:
        """Send the updates that were held back, and all later ones directly."""
        while self._held:  # updates that arrive meanwhile are appended, which keeps the order
            await self.send(self._held.popleft())
        self._held = None

    async def report_state(
        self,
        state: Literal["running", "requires_action", "idle"],
        stop_reason: v2.StopReason | None = None,
        *,
        error: v2.Error | None = None,
        usage: v2.Usage | None = None,
        meta: JsonObject | None = None,
    ) -> None:
        """Report the state of the session, and the work that runs in the background."""
        # Activities of the turn's own task are part of the turn; all others are background work.
        running = [] if self.turn is None else [self.turn.task]
        background = [
            each.background for each in self.activities.values() if each.task not in running
        ]
        update = v2.StateUpdated(
            state=state,
            stop_reason=stop_reason,
            error=error,
            usage=usage,
            background=background if background or self._has_reported_background else None,
            meta=meta,
        )
        self._has_reported_background = bool(background)
        await self.update(update)

    @asynccontextmanager
    async def requires_action(self) -> AsyncGenerator[None, None]:
        """Report the state `requires_action` during the block; do nothing outside of a turn.

        Blocks may overlap: the first one reports the state, the last one reports `running` again.
        """
        turn = self.turn
        if turn is None:
            yield
            return
        self._pending_questions += 1
        try:
            if self._pending_questions == 1:
                await self.report_state("requires_action")
            yield
        finally:
            self._pending_questions -= 1
            if not self._pending_questions and turn.is_running:
                await self.report_state("running")

    async def report_background_end(self) -> None:
        """Report that an activity has ended in the background; do nothing during a turn."""
        if self.turn is None and self._has_reported_background:
            await self.report_state("idle")

    async def abandon_activities(self, task: asyncio.Task[Any]) -> None:
        """Report the end of the activities of a task that did not end when it was cancelled."""
        for each in list(self.activities.values()):
            if each.task is task:
                await each.abandon()

    def find_subagent(self, id: str) -> OpenActivity | None:
        """Return the subagent with this id below the session, at any depth, or None."""
        for each in self.activities.values():
            if each.child is not None:
                found = each if each.activity.id == id else each.child.find_subagent(id)
                if found is not None:
                    return found
        return None

    def mcp_clients(self) -> McpClients:
        """Return the MCP clients of the session; a subagent shares those of its parent session."""
        if self._parent is not None:
            return self._parent.mcp_clients()
        if self._mcp_clients is None:
            self._mcp_clients = self.server.mcp.clients(self)
        return self._mcp_clients

    async def close_mcp_clients(self) -> None:
        """Close the MCP clients that were opened."""
        if self._mcp_clients is not None:
            await self._mcp_clients.aclose()


async def _do_nothing() -> None:
    pass


def _discard(id: str, update: v2.SessionUpdate) -> None:
    pass
