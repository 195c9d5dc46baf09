"""A running agent and the clients it serves: one, or those that share it.

Messages in a session go to the client that opened it; messages without a session go to all clients.
Updates may arrive before the response that names their session. They go to the client that waits
for such a response, if there is only one; otherwise they wait for the response.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET

from parley.errors import ConnectionClosed, InternalError, InvalidRequest, MalformedValue
from parley.proxy import (
    DirectResponse,
    PendingRequest,
    Port,
    PortOptions,
    RawMessage,
    RawNotification,
    Route,
)
from parley.proxy._switch.disconnect import disconnect_summary
from parley.proxy._switch.renumber import renumber_request
from parley.rpc._codec import DECODE_ERRORS, encode_notification
from parley.schema import v2
from parley.schema._codec import decode
from parley.session._session_follower import QUESTIONS
from parley.transport._base import Transport
from parley.transport._frame_head import peek_params

from .events import Event, short_id
from .live_session import LiveSession

if TYPE_CHECKING:
    from .agent_host import AgentHost
    from .client_connection import ClientConnection

__all__ = ["AgentProcess"]

logger = logging.getLogger(__name__)

_EARLY_BYTES = 8 * 1024 * 1024


class AgentProcess:
    """A running agent."""

    def __init__(self, host: AgentHost, transport: Transport, reached: AsyncExitStack) -> None:
        self.host = host
        self.connections: dict[ClientConnection, None] = {}
        """The clients that it serves, in the order in which they came."""
        self.sessions: dict[str, LiveSession] = {}
        """The sessions that are open."""
        self.reopens = True
        """Whether the agent itself can reopen sessions, as in version 2."""
        options = PortOptions(skips_noise=True, tap=self._observe, on_lost=self._lost)
        self.port = host.switch.add(transport, host.name, options=options)
        self._reached = reached
        self.handshake: list[tuple[bool, bytes]] = []
        """The request and the response of `initialize`, and whether the agent sent it."""
        self._early: dict[str, list[tuple[bool, bytes, bool]]] = {}
        self._early_bytes = 0
        self._truncated: set[str] = set()
        host.switch.start(self.port, self._route)

    async def aclose(self) -> None:
        """End the agent."""
        await self._reached.aclose()

    # Messages of the agent

    def _route(self, port: Port, message: RawMessage) -> Route:
        session = self.sessions.get(message.session_id)
        if session is not None:
            return self._in_session(session, message)
        if message.method == "elicitation/complete":
            self._forward_completion(message)
        connection = self._client_of(message)
        if connection is not None:
            return connection.port
        if isinstance(message, PendingRequest):
            return DirectResponse(InvalidRequest("No client can be asked this"))
        if not message.session_id:
            for each in self.connections:
                each.port.send(message.frame, "")
        return None

    def _in_session(self, session: LiveSession, message: RawMessage) -> Route:
        owner = session.owner
        if isinstance(message, PendingRequest) and message.method in QUESTIONS:
            session.ask(message)
            return None
        if owner is not None:
            return owner.port
        if isinstance(message, PendingRequest):
            return DirectResponse(
                InternalError(
                    "The client that opened the session has left, with its files and terminals",
                    {"gone": "the client", "sessionId": session.id},
                )
            )
        return None

    def _forward_completion(self, message: RawMessage) -> None:
        """Report to all subscribers that the user has finished on a web page."""
        with suppress(*DECODE_ERRORS, MalformedValue):
            params = msgspec.json.decode(message.frame, type=dict[str, msgspec.Raw])["params"]
            note = decode(v2.CompleteElicitationNotification, params)
            for session in self.sessions.values():
                for attached in session.attached:
                    attached.send_completion(note)

    def _client_of(self, message: RawMessage) -> ClientConnection | None:
        """Return the only client that a message without a known session can be for."""
        if len(self.connections) == 1:
            return next(iter(self.connections))
        opener = self.host.sessions.reopening_client(message.session_id)
        if opener in self.connections:
            return opener
        if isinstance(message, PendingRequest):
            about = self._referenced_request(message)
            return next(
                (each for each in self.connections if about and each.port is about.origin), None
            )
        waits = any(
            not is_delivered for _, _, is_delivered in self._early.get(message.session_id, ())
        )
        if waits or not message.session_id:
            return None
        opening = [each for each in self.connections if each.opening]
        return opening[0] if len(opening) == 1 else None

    def _referenced_request(self, call: PendingRequest) -> PendingRequest | None:
        """Return the request of a client that a question refers to."""
        id = peek_params(call.params).request_id
        return None if id is UNSET else self.port.find_unanswered(id)

    def _observe(self, is_in: bool, frame: bytes, session_id: str) -> None:
        """Pass each frame of a session on to the session's subscribers."""
        if not session_id:
            return
        session = self.sessions.get(session_id)
        if session is not None:
            if self.host.has_attaching:
                _record(session, is_in, frame)
        elif any(each.opening for each in self.connections):
            self._keep_early(is_in, frame, session_id)

    def _keep_early(self, is_in: bool, frame: bytes, session_id: str) -> None:
        is_delivered = (
            not is_in or self._client_of(RawNotification("", session_id, frame)) is not None
        )
        if is_delivered and not self.host.has_attaching:
            return
        if session_id in self._truncated or self._early_bytes + len(frame) > _EARLY_BYTES:
            if session_id not in self._truncated:
                logger.warning("%s sends too much before its session is known", self.host.name)
            self._truncated.add(session_id)
            return
        self._early_bytes += len(frame)
        self._early.setdefault(session_id, []).append((is_in, frame, is_delivered))

    # Sessions

    def record_initialize(self, call: PendingRequest, frame: bytes) -> None:
        """Keep the handshake, which each session's follower needs."""
        self.handshake = [(False, renumber_request(call, call.destination_id)), (True, frame)]

    def open_session(
        self, connection: ClientConnection, call: PendingRequest, session_id: str, frame: bytes
    ) -> None:
        """Register an open session, with the frames that arrived before its response."""
        session = LiveSession(session_id, self, connection)
        early = self._early.pop(session_id, [])
        is_incomplete = session_id in self._truncated
        self._truncated.discard(session_id)
        self._early_bytes -= sum(len(each) for _, each, _ in early)
        if not any(each.opening for each in self.connections):
            self._early.clear()
            self._early_bytes = 0
            self._truncated.clear()
        self._add(session)
        if call.method == "session/fork" and call.session_id in self.sessions:
            session.inherit(self.sessions[call.session_id])
        if self.host.has_attaching:
            frames = [] if is_incomplete else [(is_in, each) for is_in, each, _ in early]
            if not call.session_id or call.session_id != session_id:
                frames = [
                    (False, renumber_request(call, call.destination_id)),
                    *frames,
                    (True, frame),
                ]
            for is_in, each in frames:
                _record(session, is_in, each)
            skips_replay = call.method == "session/resume" and not _asks_for_replay(call)
            session.is_truncated = session.is_truncated or is_incomplete or skips_replay
        for _, each, is_delivered in early:
            if not is_delivered:
                connection.port.send(each, session_id)

    def _add(self, session: LiveSession) -> None:
        before = self.host.sessions.get(session.id)
        if before is not None:
            before.process.forget(before)
            before.end(ConnectionClosed("the session was opened elsewhere"))
        self.host.sessions.add(session)
        self.sessions[session.id] = session
        self._emit("session_opened", session)

    def close_unused(self, session: LiveSession) -> None:
        """Close a session without clients."""
        self.forget(session)
        session.end(ConnectionClosed("nobody is left on the session"))
        self.close_at_agent(session.id)
        self.host.release(self)

    def close_at_agent(self, session_id: str) -> None:
        """Ask the agent to close a session, if it can."""
        body = msgspec.json.encode({"sessionId": session_id})
        self.port.send(encode_notification("session/cancel", body), "")
        self.port.request("session/close", body, "", lambda call, frame, is_result: True)

    def forget(self, session: LiveSession) -> None:
        """Remove a session."""
        self.host.sessions.remove(session)
        self.host.histories.remove(session)
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
            self._emit("session_closed", session)

    def _emit(self, event: Literal["session_opened", "session_closed"], it: LiveSession) -> None:
        self.host.emit(Event(event=event, principal=it.principal, session=short_id(it.id)))

    def client_left(self, connection: ClientConnection) -> None:
        """Handle the loss of a client; its sessions continue for their subscribers."""
        self.connections.pop(connection, None)
        for session in list(self.sessions.values()):
            if session.owner is connection:
                session.owner = None
                if not session.attached:
                    self.close_unused(session)
        self.host.release(self)

    @property
    def is_initialized(self) -> bool:
        """Whether it has responded to `initialize`."""
        return bool(self.handshake)

    @property
    def is_busy(self) -> bool:
        """Whether a request, a question or a turn is pending."""
        if self.port.unanswered or self.port.pending:
            return True
        turns = (each.follower.transcript.state for each in self.sessions.values())
        return any(state != "idle" for state in turns)

    @property
    def is_in_use(self) -> bool:
        """Whether it has clients or sessions."""
        return bool(self.connections or self.sessions)

    def _lost(self, port: Port, reason: ConnectionClosed) -> None:
        for session in list(self.sessions.values()):
            self.forget(session)
            session.fail(reason)
        for connection in list(self.connections):
            connection.close(disconnect_summary(self.host.name, reason))
        self.host.process_lost(self, reason)


class _Resume(msgspec.Struct):
    replay_from: msgspec.Raw = msgspec.field(name="replayFrom", default=msgspec.Raw(b"null"))


def _asks_for_replay(call: PendingRequest) -> bool:
    """Return whether the agent replays the conversation of a resumed session."""
    try:
        return bytes(msgspec.json.decode(call.params, type=_Resume).replay_from) != b"null"
    except DECODE_ERRORS:
        return False


def _record(session: LiveSession, is_in: bool, frame: bytes) -> None:
    """Record a frame in a session; errors must not stop the frame itself."""
    try:
        session.observe(from_agent=is_in, frame=frame)
    except Exception:  # a defect of ours must not stop what passes between others
        logger.exception("a session cannot be followed")
