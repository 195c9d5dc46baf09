"""A client connection to a hosted agent; decides where each of its messages goes.

Most go to its agent process. Messages for an attached session of another connection go to its
`SharedSessionAgent`. The process is started by `initialize`; until it runs, messages are held and
reading is paused.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct

from parley.errors import (
    AcpError,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    Overloaded,
    RequestError,
    ResourceNotFound,
)
from parley.proxy import DirectResponse, PendingRequest, Port, PortOptions, RawMessage, Route
from parley.rpc._codec import DECODE_ERRORS
from parley.schema._session_methods import CLOSES, OPENS, REOPENS
from parley.transport._base import Transport, send_close_reason
from parley.transport._frame_head import peek, peek_meta

from .events import Event
from .initialize import offer_versions
from .live_session import LiveSession
from .shared_session_agent import SESSION_METHODS, SharedSessionAgent, is_observer

if TYPE_CHECKING:
    from .agent_host import AgentHost
    from .agent_process import AgentProcess

__all__ = ["ClientConnection"]

logger = logging.getLogger(__name__)

_OBSERVER_METHODS = REOPENS | {"session/close"}
"""The methods that observers may send: to join the session again and to leave it.

This is an allow-list, so that methods nobody has thought of are refused."""
_OUTSIDER_METHODS = REOPENS | {"session/fork", "session/delete", "session/archive"}
"""The methods that clients may send for a session of another connection without joining it."""
_REJECTED_WHILE_DRAINING = OPENS | {"session/prompt"}
_SETUP_METHODS = OPENS | {"initialize"}


class _Result(Struct):
    session_id: str = msgspec.field(name="sessionId", default="")


class _Error(Struct):
    code: int = 0


class _Failure(Struct):
    error: _Error | None = None


class ClientConnection:
    """A client connection to a hosted agent; decides where each message goes."""

    def __init__(
        self, host: AgentHost, transport: Transport, principal: str, *, has_one_principal: bool
    ) -> None:
        self.host = host
        self._has_one_principal = has_one_principal
        self.principal = principal
        """The principal; empty for the local user."""
        self.port = host.switch.add(
            transport,
            "the client",
            options=PortOptions(
                is_trusted=False,
                takes_arrays=False,
                drain_timeout=host.limits.patience if host.is_shared else None,
                keeps=self._is_awaited_by_others,
                on_response_sent=self._response_sent,
                on_lost=self._lost,
            ),
        )
        self.reason = ""
        """Why the connection ended."""
        self.opening = 0
        """The number of pending requests that open a session."""
        self.process: AgentProcess | None = None
        """The process that serves it, once it is started."""
        self._session_agent: SharedSessionAgent | None = None
        self._observed: set[str] = set()
        self._initialize: PendingRequest | None = None
        self._result: bytes | None = None
        self._started_at: dict[PendingRequest, float] = {}
        self._held: list[RawMessage] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(self) -> None:
        """Serve the client until the connection ends."""
        self.host.switch.start(self.port, self._route)
        try:
            await asyncio.shield(self._ended)
        finally:
            if self._starting is not None:
                self._starting.cancel()
                await asyncio.wait({self._starting})
            if self._session_agent is not None:
                await self._session_agent.aclose()
            await self.port.transport.aclose()
            self.port.connection_lost(ConnectionClosed("the connection was closed"))

    def close(self, why: str) -> None:
        """Close after flushing pending output, telling the client the reason."""
        if not self._ended.done():
            self.reason = why
            send_close_reason(self.port.transport, ConnectionClosed(why))
            self._ended.set_result(None)

    def _lost(self, port: Port, reason: ConnectionClosed) -> None:
        self.reason = self.reason or str(reason)
        if not self._ended.done():
            self._ended.set_result(None)
        if self.process is not None:
            self.process.client_left(self)
        if not self.host.is_shared:  # a shared agent continues to open it
            self.host.sessions.client_left(self)

    def _is_awaited_by_others(self, call: PendingRequest) -> bool:
        """Return whether other clients await the end of a request after its client has left."""
        if self.host.is_shared and call.method in _SETUP_METHODS:
            return True
        session = self.host.sessions.get(call.session_id)
        return session is not None and session.owner is self and bool(session.attached)

    def _response_sent(self, call: PendingRequest, frame: bytes) -> None:
        """Report the duration of a request, and its error."""
        started_at = self._started_at.pop(call, None)
        seconds = 0.0 if started_at is None else monotonic() - started_at
        self.host.emit(
            Event(
                event="request",
                method=call.method,
                seconds=seconds,
                code=_error_code(frame),
                trace=_trace_context(call),
            )
        )

    # Starting

    def _route(self, port: Port, message: RawMessage) -> Route:
        if isinstance(message, PendingRequest):
            self._started_at[message] = monotonic()
        if self._held is not None:
            self._held.append(message)
            return None
        if self.process is not None:
            return self._route_message(self.process, message)
        if not isinstance(message, PendingRequest):
            return None
        if message.method != "initialize":
            return DirectResponse(
                InvalidRequest(f"{message.method} is not possible before initialize")
            )
        if (refusal := offer_versions(message, self.host.versions)) is not None:
            return DirectResponse(refusal)
        self._held = []
        self.port.transport.pause_reading()
        self._starting = asyncio.get_running_loop().create_task(self._start(message))
        return None

    async def _start(self, initialize: PendingRequest) -> None:
        """Acquire a process for the client, and route the messages that were held."""
        try:
            process = await self.host.acquire(self, initialize)
        except AcpError as error:
            refused = error if isinstance(error, RequestError) else InternalError(str(error))
            initialize.refuse(refused)
            self.close(str(error))
            return
        except Exception:  # a defect of ours: nobody awaits this task, and the client waits
            logger.exception("%s could not be reached", self.host.name)
            initialize.refuse(InternalError())
            self.close("internal error")
            return
        if self.port.lost is not None:
            self.host.release(process)
            return
        self.process = process
        process.connections[self] = None
        self._initialize_process(process, initialize)
        held, self._held = self._held or [], None
        self.port.transport.resume_reading()
        for message in held:
            destination = self._route_message(process, message)
            if isinstance(message, PendingRequest):
                message.follow(destination)
            elif isinstance(destination, Port):
                destination.send(message.frame, message.session_id)

    def _initialize_process(self, process: AgentProcess, initialize: PendingRequest) -> None:
        self._initialize = initialize
        self.host.initialize(process, initialize, self._initialized)

    def _initialized(self, result: bytes) -> None:
        self._result = result

    # Where things go

    def _route_message(self, process: AgentProcess, message: RawMessage) -> Route:
        if message.method == "initialize":
            return self._retry_initialize(process, message)
        session_id = message.session_id
        session = self.host.sessions.get(session_id) if session_id else None
        if session is not None and (refusal := self._forbidden(session, message)) is not None:
            return DirectResponse(refusal) if isinstance(message, PendingRequest) else None
        if self._is_for_session_agent(session, message):
            self._send_to_session_agent(message)
            return None
        if session_id and (refusal := self._not_accessible(session, message)) is not None:
            return DirectResponse(refusal) if isinstance(message, PendingRequest) else None
        own = session if session is not None and session.owner is self else None
        if isinstance(message, PendingRequest):
            is_held = (
                own is not None
                and message.method == "session/prompt"
                and own.hold_owner_prompt(message)
            )
            return None if is_held else self._route_request(process, message)
        if own is not None and message.method == "session/cancel":
            own.owner_cancels()
        return process.port

    def _retry_initialize(
        self, process: AgentProcess, message: RawMessage
    ) -> DirectResponse | None:
        """Handle another `initialize`, which is allowed if the first one failed."""
        if not isinstance(message, PendingRequest):
            return None
        if self._result is not None or (self._initialize and not self._initialize.is_settled):
            return DirectResponse(InvalidRequest("The connection is initialized already"))
        if (refusal := offer_versions(message, self.host.versions)) is not None:
            return DirectResponse(refusal)
        self._initialize_process(process, message)
        return None

    def _is_for_session_agent(self, session: LiveSession | None, message: RawMessage) -> bool:
        if message.method not in SESSION_METHODS:
            return False
        if (
            self._session_agent is not None
            and message.session_id in self._session_agent.subscriptions
        ):
            return True
        return (
            message.method in REOPENS
            and self.host.has_attaching
            and self._result is not None
            and session is not None
            and session.owner is not self
            and session.principal == self.principal
        )

    def _send_to_session_agent(self, message: RawMessage) -> None:
        if self._session_agent is None:
            assert self._initialize is not None
            assert self._result is not None
            self._session_agent = SharedSessionAgent(self, self._initialize, self._result)
        if isinstance(message, PendingRequest) and message.method in REOPENS:
            message.on_response = self._handle_attach_response
            if is_observer(message.params):  # counts at once, whatever else is on its way already
                self._observed.add(message.session_id)
        self._session_agent.take(message)

    def _handle_attach_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Open a session with the client's own agent if it ended before it could be joined."""
        if is_result and not is_observer(call.params):
            self._observed.discard(call.session_id)  # not before: a refusal changes no role
        is_gone = _error_code(frame) == ResourceNotFound.code
        if is_result or not is_gone or self.host.sessions.get(call.session_id) is not None:
            return False
        call.on_response = None
        self._reroute(call)
        return True

    def _reroute(self, call: PendingRequest) -> None:
        if self.process is not None and not call.is_settled:
            call.follow(self._route_message(self.process, call))

    def _forbidden(self, session: LiveSession, message: RawMessage) -> RequestError | None:
        """Return the error for a request that the state of an open session forbids."""
        method, is_own = message.method, session.owner is self
        if session.principal != self.principal:
            return None  # to this client it does not exist
        is_observing = session.id in self._observed and not is_own
        if is_observing and method not in _OBSERVER_METHODS:
            return InvalidRequest(
                f"An observer may not send {method}; resume the session as a controller to take "
                "part in it",
                {"sessionId": session.id},
            )
        is_leaving = method == "session/close" and not is_own
        if method in CLOSES and not is_leaving and session.is_in_turn_of_another(self):
            return InvalidRequest(
                f"Another client's turn is running, so {method} is not possible now; wait for its "
                "end or cancel it",
                {"sessionId": session.id},
            )
        return None

    def _not_accessible(
        self, session: LiveSession | None, message: RawMessage
    ) -> RequestError | None:
        """Return the error for a session that is another principal's, or open elsewhere."""
        session_id = message.session_id
        if self._owner_of(session_id) != self.principal:
            return ResourceNotFound("There is no such session", {"sessionId": session_id})
        is_open = session is not None and session.owner is not self and self.host.is_common
        is_joined = (
            self._session_agent is not None and session_id in self._session_agent.subscriptions
        )
        if is_open and not is_joined and message.method not in _OUTSIDER_METHODS:
            text = "The session is open on another connection; load or resume it to join"
            return InvalidRequest(text, {"sessionId": session_id})
        return None

    def _route_request(self, process: AgentProcess, call: PendingRequest) -> Route:
        if self.host.is_draining and call.method in _REJECTED_WHILE_DRAINING:
            return DirectResponse(
                Overloaded(f"{self.host.name} is being shut down; try again later")
            )
        if call.method in REOPENS and not process.reopens:
            text = "The session is not open, and the agent cannot reopen sessions"
            return DirectResponse(ResourceNotFound(text, {"sessionId": call.session_id}))
        if call.method in REOPENS and call.session_id and self.host.has_attaching:
            again = partial(self._reroute, call)
            if not self.host.sessions.begin_reopening(call.session_id, self, again):
                return None
        if call.method in OPENS:
            self.opening += 1
            call.on_response = self._handle_open_response
        elif call.method in CLOSES:
            call.on_response = self._handle_close_response
        elif call.method == "session/list":
            call.on_response = self._handle_list_response
        return process.port

    def _handle_open_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        self.opening -= 1
        self.host.sessions.end_reopening(call.session_id, self)
        process, session_id = self.process, _opened_id(call, frame) if is_result else ""
        if not session_id or process is None:
            return False
        if self._owner_of(session_id) not in (None, self.principal):
            text = "The agent gave the session an id that is another session's already"
            call.refuse(InternalError(text))
            return True
        if self.port.lost is not None:
            process.close_at_agent(session_id)
            return False
        before = self.host.sessions.get(session_id)
        if before is None or before.owner is not self:
            self.host.claim_session(session_id, self.principal)
            process.open_session(self, call, session_id, frame)
        return False

    def _handle_close_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> None:
        session = self.host.sessions.get(call.session_id)
        if is_result and call.method == "session/delete":
            self.host.forget_session(call.session_id)
        if is_result and session is not None and session.owner is self:
            session.process.forget(session)
            session.end(ConnectionClosed("the session was closed"))

    def _handle_list_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Remove the sessions of other principals from a list."""
        if not is_result:
            return False
        try:
            members = msgspec.json.decode(frame, type=dict[str, Raw])
            result = msgspec.json.decode(members["result"], type=dict[str, Raw])
            listed = msgspec.json.decode(result.get("sessions", Raw(b"[]")), type=list[Raw])
            own = [each for each in listed if self._is_own(each)]
        except (*DECODE_ERRORS, KeyError):
            call.refuse(InternalError("The list of sessions cannot be read"))
            return True
        if len(own) == len(listed):
            return False
        call.respond(msgspec.json.encode(result | {"sessions": own}))
        return True

    def _owner_of(self, session_id: str) -> str | None:
        return self.host.owner_of(
            session_id, self.principal, has_one_principal=self._has_one_principal
        )

    def _is_own(self, item: Raw) -> bool:
        session_id = msgspec.json.decode(item, type=_Result).session_id
        return self._owner_of(session_id) == self.principal


def _trace_context(call: PendingRequest) -> str:
    """Return the W3C trace context of a request."""
    if b'"traceparent"' not in call.frame:
        return ""
    trace = peek_meta(call.params, "traceparent")
    return trace if isinstance(trace, str) else ""


def _error_code(frame: bytes) -> int | None:
    """Return the code of an error response."""
    if b'"error"' not in frame:
        return None
    try:
        error = msgspec.json.decode(frame, type=_Failure).error
    except DECODE_ERRORS:
        return None
    return None if error is None else error.code


def _opened_id(call: PendingRequest, frame: bytes) -> str:
    """Return the id of the session that a response opens."""
    if call.method in REOPENS:
        return call.session_id
    result = peek(frame).result
    return "" if result is UNSET else result.session_id or ""
