"""What goes to the peer: requests and how they are answered, notifications, room to send."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Raw

from parley.errors import (
    AcpError,
    ConnectionClosed,
    MalformedValue,
    Overloaded,
    RemoteProtocolError,
)
from parley.rpc.codec import NOT_FITTING, encode_notification, notification_head
from parley.rpc.engine import Engine
from parley.schema.base import Method
from parley.schema.codec import decode, encode
from parley.transport.base import Transport

from .dispatch import Dispatcher
from .early import EarlyUpdates
from .lane import Lane
from .limits import Limits
from .middleware import Observer, TraceContext, Tracer, add_trace, current_trace
from .request import Ticket

__all__ = ["CANCEL_REQUEST", "Outbound", "read_result"]

logger = logging.getLogger(__name__)

CANCEL_REQUEST = "$/cancel_request"


class _Opened(msgspec.Struct):
    """The part of an answer that names a new session."""

    session_id: str = msgspec.field(name="sessionId")


class Outbound:
    """Our requests and notifications on one connection."""

    def __init__(
        self,
        transport: Transport,
        engine: Engine[Ticket],
        dispatcher: Dispatcher,
        *,
        limits: Limits,
        tracer: Tracer | None,
        observer: Observer | None,
    ) -> None:
        self._transport = transport
        self.room = transport.drained
        """Returns what to wait for before sending more; None while there is room."""
        self._engine = engine
        self._dispatcher = dispatcher
        self._limits = limits
        self._tracer = tracer
        self._observer = observer
        self._unsettled: dict[Ticket, None] = {}
        self.early = EarlyUpdates(limits.early_updates, limits.connection_bytes)
        self._pressed_bytes = 0
        self._relief: asyncio.Future[None] | None = None
        self._session: str = ""
        self._method: str = ""
        self._head = b""
        self.lost: ConnectionClosed | None = None
        """Why nothing can be sent any more."""

    def send(self, frame: bytes) -> None:
        """Hand a frame to the transport."""
        if self.lost is not None:
            raise self.lost.with_traceback(None)  # it is raised again and again
        if self._observer is not None:
            self._observer("outbound", frame)
        self._transport.send(frame)

    def notify(self, method: str, params: Any) -> Coroutine[Any, Any, None]:
        """Send a notification; waits while the peer takes no more."""
        body = None if params is None else encode(params)
        return self._tell(encode_notification(method, body))

    def update(self, method: str, session: str, update: Any) -> Coroutine[Any, Any, None]:
        """Send the notification of an update, whose params are nothing but these two."""
        if session != self._session or method != self._method:
            self._session, self._method = session, method
            self._head = notification_head(method) + b',"params":{"sessionId":%b,"update":' % (
                encode(session)
            )
        return self._tell(b"%b%b}}" % (self._head, encode(update)))

    async def _tell(self, frame: bytes) -> None:
        if self._pressed_bytes:
            self._check_pressure()
        if self._dispatcher.is_over and self.room() is not None:
            self._may_wait(self._dispatcher.current_lane())
        if self._observer is None and self.lost is None:
            self._transport.send(frame)  # `send`, without a call
        else:
            self.send(frame)
        if (room := self.room()) is None:
            return
        self._pressed_bytes += len(frame)
        while room is not None:
            await self._dispatcher.wait(room, self._dispatcher.current_lane())
            room = self.room()
        self._pressed_bytes = 0
        if self.lost is not None:
            raise self.lost.with_traceback(None)

    def _check_pressure(self) -> None:
        """Send nothing more to a peer that takes nothing, while senders lose patience."""
        if self._pressed_bytes <= self._limits.connection_bytes:
            return
        if self._relief is None or self._relief.done():
            self._relief = self.room()
        if self._relief is not None:
            raise Overloaded(
                f"More than {self._limits.connection_bytes} bytes wait for a peer that takes none"
            )
        self._pressed_bytes = 0

    def _may_wait(self, lane: Lane | None) -> None:
        """Fail a handler that would wait beyond the bounds, before it has sent anything."""
        if lane is not None and self._dispatcher.is_over:
            raise self._dispatcher.overloaded()

    async def request(
        self,
        method: Method[Any, Any],
        params: Any,
        *,
        lane: Lane | None,
        on_result: Callable[[Any], None] | None,
        on_error: Callable[[AcpError], None] | None,
    ) -> Any:
        """Send a request and return its typed result."""
        if self._engine.asked >= self._limits.in_flight:
            raise Overloaded(f"{self._limits.in_flight} requests are under way already")
        self._may_wait(lane)
        self._check_pressure()
        session = None if method.session is None else getattr(params, method.session, None)
        ticket = Ticket(method, session, lane, on_result, on_error)
        if self._tracer is None:
            return await self._exchange(ticket, params, current_trace.get())
        with self._tracer.outbound(method.name) as trace:
            return await self._exchange(ticket, params, trace)

    async def _exchange(self, ticket: Ticket, params: Any, trace: TraceContext | None) -> Any:
        """Send, and wait for the answer; who stops waiting tells the peer."""
        if trace is not None:
            params = add_trace(params, trace)
        body = None if params is None else encode(params)
        id, frame = self._engine.ask(ticket.method.name, body, ticket)
        self._begin(ticket)
        try:
            self.send(frame)
            if (room := self.room()) is not None:
                self._pressed_bytes += len(frame)
                while room is not None:
                    await self._dispatcher.wait(room, ticket.lane)
                    room = self.room()
                self._pressed_bytes = 0
            lane = ticket.lane
            raw = await (
                ticket.future if lane is None else self._dispatcher.wait(ticket.future, lane)
            )
        finally:
            del self._unsettled[ticket]
            if self._engine.forget(id):
                self._give_up(id, ticket)
        return read_result(ticket.method.result, ticket.method.name, raw)

    def _begin(self, ticket: Ticket) -> None:
        self._unsettled[ticket] = None
        if ticket.session is not None and ticket.method.to != "client":
            self.early.knows(ticket.session)  # an agent gets no updates
        if ticket.method.opens_session:
            self.early.opening += 1

    def _give_up(self, id: int, ticket: Ticket) -> None:
        """Cancel a request that the peer has not answered."""
        if ticket.method.opens_session:
            self._no_longer_opening()
        with suppress(ConnectionClosed):
            self.send(encode_notification(CANCEL_REQUEST, b'{"requestId":%d}' % id))

    def settle(self, ticket: Ticket, outcome: Raw | Exception, frame_bytes: int) -> None:
        """Deliver an answer when everything of its session that came before has been handled."""
        outcome = _tell(ticket, outcome)
        if ticket.method.opens_session:
            self._opened(ticket, outcome)
        if ticket.method.closes_session and ticket.session is not None:
            self.early.forget(ticket.session)
        if ticket.passes_barrier or not self._dispatcher.is_busy(ticket.session):
            ticket.settle(outcome)
        else:
            self._dispatcher.deliver(ticket.session, frame_bytes, _settle, (ticket, outcome))

    def _opened(self, ticket: Ticket, outcome: Raw | Exception) -> None:
        """Release what came early; the answer itself then waits behind it."""
        if isinstance(outcome, Raw):
            try:
                session = msgspec.json.decode(outcome, type=_Opened).session_id
            except NOT_FITTING:
                logger.warning("the answer to %s names no session", ticket.method.name)
            else:
                ticket.session = session
                self.early.knows(session)
                self.release(session)
        self._no_longer_opening()

    def _no_longer_opening(self) -> None:
        self.early.opening -= 1
        if not self.early.opening:
            self._release_all()

    def release(self, session: str) -> None:
        """Have handled what came early in a session."""
        for item in self.early.release(session):
            self._dispatcher.put(session, *item)

    def _release_all(self) -> None:
        for session in self.early.sessions:
            self.release(session)

    def refuse_early(self) -> None:
        """Fail the requests that open sessions: too much has arrived before their answers."""
        error = Overloaded(
            f"More than {self._limits.early_updates} updates, or {self._limits.connection_bytes} "
            "bytes, came before the answer that names their session"
        )
        for ticket in list(self._unsettled):
            if ticket.method.opens_session:
                ticket.settle(error)
        self._release_all()

    def lose(self, reason: ConnectionClosed) -> None:
        """Fail everything that has no answer, each after the updates that came before."""
        self.lost = reason
        for ticket in self._engine.abandon():
            self.settle(ticket, reason, 0)

    def close(self, reason: ConnectionClosed) -> None:
        """Fail whatever still waits, at once."""
        for ticket in list(self._unsettled):
            ticket.settle(reason)


def _tell(ticket: Ticket, outcome: Raw | Exception) -> Raw | Exception:
    """Call back who wants the outcome at once; what is raised there, the caller gets."""
    if ticket.future.done():
        return outcome
    try:
        if ticket.on_result is not None and isinstance(outcome, Raw):
            ticket.on_result(read_result(ticket.method.result, ticket.method.name, outcome))
    except Exception as error:  # noqa: BLE001 - nothing is swallowed: `request` raises it
        outcome = error
    try:
        if ticket.on_error is not None and isinstance(outcome, AcpError):
            ticket.on_error(outcome)
    except Exception as error:  # noqa: BLE001 - likewise
        outcome = error
    return outcome


def _settle(answer: tuple[Ticket, Raw | Exception]) -> None:
    ticket, outcome = answer
    ticket.settle(outcome)


def read_result(tp: Any, method: str, raw: Raw) -> Any:
    """Return a typed result.

    Raises:
        RemoteProtocolError: It does not have the shape of the type.
    """
    try:
        return raw if tp is Raw else decode(tp, raw, "result")
    except MalformedValue as error:
        raise RemoteProtocolError(f"the answer to {method} is malformed: {error}") from error
