"""Outgoing messages: requests and the responses to them, and notifications.

How much may wait to be sent is decided in `_flow_control.py`, and the responses to the peer's
requests are sent by `_inbound.py`.

Also here: updates that arrive before their session is known (`EarlyUpdates`). An agent may send
updates for a new session before the client has the response that names it. While a request that
opens a session is pending, updates of unknown sessions are held. The response releases them, and so
does a request from the peer in that session, which must not overtake them. When no request that
opens a session is left, the remaining updates are released too, and their handler decides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from parley._user_code import as_exception
from parley.errors import (
    AcpError,
    ConnectionClosed,
    MalformedValue,
    Overloaded,
    RemoteProtocolError,
    RequestError,
)
from parley.rpc._codec import DECODE_ERRORS, encode_notification, notification_head
from parley.rpc._engine import Engine
from parley.rpc._message import Id
from parley.schema._codec import decode, encode
from parley.schema.base import Method
from parley.transport._base import Transport
from parley.transport._frame_head import FrameHead, ParamsHead, head_of_values

from ._dispatcher import Dispatcher, Handler, Lane
from ._flow_control import ITEM_BYTES, SendFlowControl
from ._limits import Limits
from ._request import PendingRequest
from ._tracing import (
    Observers,
    TraceContext,
    Tracer,
    add_trace,
    current_trace,
)

logger = logging.getLogger(__name__)


CANCEL_REQUEST = "$/cancel_request"


class _SessionResponse(msgspec.Struct):
    """The part of a response that names a new session."""

    session_id: str = msgspec.field(name="sessionId")


class Outbound:
    """The outgoing half of a connection: requests and notifications."""

    def __init__(
        self,
        transport: Transport,
        engine: Engine[PendingRequest],
        dispatcher: Dispatcher,
        *,
        name: str,
        limits: Limits,
        tracer: Tracer | None,
        observers: Observers | None,
    ) -> None:
        self._name = name
        self._transport = transport
        self._engine = engine
        self._dispatcher = dispatcher
        self._read_flow = dispatcher.flow
        self._send_flow = SendFlowControl(transport, limits)
        self.drained = transport.drained
        """Returns a future to await before sending more; None while there is room."""
        self._limits = limits
        self._tracer = tracer
        self._observers = observers
        self._pending: dict[PendingRequest, None] = {}
        self.early = EarlyUpdates(limits.early_updates, limits.connection_bytes)
        self._head_session: str = ""
        self._head_method: Method[Any, None] | None = None
        self._head = b""
        self._update_head: FrameHead | None = None
        self.lost: ConnectionClosed | None = None
        """The reason why nothing more can be sent; None while the connection is open."""

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Pass a frame to the transport; see `Transport.send`."""
        if self.lost is not None:
            raise self.lost.with_traceback(None)  # raised many times: do not grow its traceback
        if self._observers is not None:
            self._observers.observe("outbound", frame)
        self._transport.send(frame, head)

    def notify(self, method: str, params: Any) -> Coroutine[Any, Any, None]:
        """Send a notification, and wait until there is room to send more."""
        body = None if params is None else encode(params)
        return self._send_notification(encode_notification(method, body), _head(method, params))

    def notify_update(
        self, method: Method[Any, None], session: str, update: Any
    ) -> Coroutine[Any, Any, None]:
        """Send a notification whose params are a session ID and an update; caches the head."""
        if session != self._head_session or method is not self._head_method:
            self._head_session, self._head_method = session, method
            self._head = notification_head(method.name) + b',"params":{"sessionId":%b,"update":' % (
                encode(session)
            )
            self._update_head = FrameHead(method.name, params=ParamsHead(session))
        frame = b"".join((self._head, encode(update), b"}}"))  # faster than formatting
        return self._send_notification(frame, self._update_head)

    def notify_now(self, method: str, params: Any) -> None:
        """Send a notification without waiting for room to send more."""
        self._send_flow.check()
        frame = encode_notification(method, encode(params))
        self.send(frame, _head(method, params))
        if self.drained() is not None:
            self._send_flow.blocked_bytes += len(frame)

    async def _send_notification(self, frame: bytes, head: FrameHead | None) -> None:
        flow = self._send_flow
        if flow.blocked_bytes:
            flow.check()
        if self._read_flow.is_exceeded and self.drained() is not None:
            self._read_flow.check_wait(self._dispatcher.current_lane())
        if self._observers is None and self.lost is None:
            self._transport.send(frame, head)  # `send` inlined: this is the hot path
        else:
            self.send(frame, head)
        if (drained := self.drained()) is None:
            return
        # Reset only when there is room: if this wait is cancelled, the bytes stay counted.
        flow.blocked_bytes += len(frame)
        while drained is not None:
            await self._dispatcher.wait(drained, self._dispatcher.current_lane())
            drained = self.drained()
        flow.blocked_bytes = 0
        if self.lost is not None:
            raise self.lost.with_traceback(None)

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
        request = self._new_request(method, params, lane, on_result, on_error)
        if self._tracer is None:
            return await self._round_trip(request, params, current_trace.get())
        with self._tracer.outbound(method.name) as trace:
            return await self._round_trip(request, params, trace)

    def begin_request(
        self,
        method: Method[Any, Any],
        params: Any,
        *,
        on_result: Callable[[Any], None] | None,
        on_error: Callable[[AcpError], None] | None,
    ) -> asyncio.Future[Raw]:
        """Send a request now, and return a future for its undecoded result."""
        request = self._new_request(method, params, None, on_result, on_error)
        future = request.future
        if self._tracer is None:
            self._send_request(request, params, current_trace.get())
        else:
            # The span ends with the response. It gets a context of its own, because the caller's
            # context must not keep it as the current span until then.
            span, context = self._tracer.outbound(method.name), copy_context()
            trace = context.run(span.__enter__)
            try:
                self._send_request(request, params, trace)
            except BaseException as error:
                context.run(span.__exit__, type(error), error, error.__traceback__)
                raise
            future.add_done_callback(partial(_end_span, span), context=context)
        future.add_done_callback(lambda _: self._forget(request))
        return future

    def _new_request(
        self,
        method: Method[Any, Any],
        params: Any,
        lane: Lane | None,
        on_result: Callable[[Any], None] | None,
        on_error: Callable[[AcpError], None] | None,
    ) -> PendingRequest:
        """Return a request to send, if the limits allow one more."""
        if self._engine.outgoing_count >= self._limits.in_flight:
            raise Overloaded(f"{self._limits.in_flight} requests are already pending")
        self._read_flow.check_wait(lane)
        self._send_flow.check()
        session = None if method.session is None else getattr(params, method.session, None)
        return PendingRequest(method, session, lane, on_result, on_error)

    async def _round_trip(
        self, request: PendingRequest, params: Any, trace: TraceContext | None
    ) -> Any:
        """Send a request and wait for its response; cancel it if the wait ends early."""
        self._send_request(request, params, trace)
        try:
            if (drained := self.drained()) is not None:
                while drained is not None:
                    await self._dispatcher.wait(drained, request.lane)
                    drained = self.drained()
                self._send_flow.blocked_bytes = 0
            lane = request.lane
            raw = await (
                request.future if lane is None else self._dispatcher.wait(request.future, lane)
            )
        finally:
            self._forget(request)
        return read_result(request.method.result, request.method.name, raw)

    def _send_request(
        self, request: PendingRequest, params: Any, trace: TraceContext | None
    ) -> None:
        """Write a request; no step of the event loop passes before its frame is queued."""
        if trace is not None:
            params = add_trace(params, trace)
        body = None if params is None else encode(params)
        request.id, frame = self._engine.send_request(request.method.name, body, request)
        self._register(request)
        try:
            self.send(frame, _head(request.method.name, params, request.id))
        except BaseException:
            self._forget(request)
            raise
        if self.drained() is not None:
            self._send_flow.blocked_bytes += len(frame)

    def _forget(self, request: PendingRequest) -> None:
        """Remove a request, and cancel it if it has no response yet."""
        del self._pending[request]
        if self._engine.forget(request.id):
            self._cancel(request)

    def _register(self, request: PendingRequest) -> None:
        self._pending[request] = None
        if request.session is not None and request.method.to != "client":
            self.early.mark_known(request.session)  # agents receive no updates
        if request.method.opens_session:
            self.early.opening += 1

    def _cancel(self, request: PendingRequest) -> None:
        """Cancel a request that has no response yet."""
        if request.method.opens_session:
            self._opening_ended()
        with suppress(ConnectionClosed):
            self.send(
                encode_notification(CANCEL_REQUEST, b'{"requestId":%d}' % request.id),
                FrameHead(CANCEL_REQUEST, params=ParamsHead(request_id=request.id)),
            )

    def settle(self, request: PendingRequest, outcome: Raw | Exception, frame_bytes: int) -> None:
        """Deliver a response after the earlier updates of its session have been handled."""
        if isinstance(outcome, RequestError):
            outcome.method, outcome.peer = request.method.name, self._name
        outcome = _run_callbacks(request, outcome)
        if request.method.opens_session:
            self._session_opened(request, outcome)
        if request.method.closes_session and request.session is not None:
            self.early.forget(request.session)
        if request.passes_barrier or not self._dispatcher.is_busy(request.session):
            request.settle(outcome)
        else:
            self._dispatcher.deliver_in_order(
                request.session, frame_bytes, _settle, (request, outcome)
            )

    def _session_opened(self, request: PendingRequest, outcome: Raw | Exception) -> None:
        """Release the early updates of a new session; its response is then delivered after them."""
        if isinstance(outcome, Raw):
            try:
                session = msgspec.json.decode(outcome, type=_SessionResponse).session_id
            except DECODE_ERRORS:
                logger.warning("the response to %s contains no session ID", request.method.name)
            else:
                request.session = session
                self.early.mark_known(session)
                self.release(session)
        self._opening_ended()

    def _opening_ended(self) -> None:
        self.early.opening -= 1
        if not self.early.opening:
            self._release_all()

    def release(self, session: str) -> None:
        """Queue the early updates of a session for handling."""
        for item in self.early.release(session):
            self._dispatcher.enqueue(session, *item)

    def _release_all(self) -> None:
        for session in self.early.sessions:
            self.release(session)

    def fail_opening_requests(self) -> None:
        """Fail the requests that open sessions: too much has arrived before their responses."""
        error = Overloaded(
            f"More than {self._limits.early_updates} updates, or {self._limits.connection_bytes} "
            "bytes, arrived before the response that contains their session ID"
        )
        for request in list(self._pending):
            if request.method.opens_session:
                request.settle(error)
        self._release_all()

    def lose(self, reason: ConnectionClosed) -> None:
        """Fail all pending requests, each after the earlier updates of its session."""
        self.lost = reason
        for request in self._engine.abandon():
            self.settle(request, reason, 0)

    def close(self, reason: ConnectionClosed) -> None:
        """Fail the requests that are still pending, at once."""
        for request in list(self._pending):
            request.settle(reason)


def _head(method: str, params: Any, id: Id | UnsetType = UNSET) -> FrameHead | None:
    """Return the head of a message for the transport; None if its params are encoded already."""
    params_head = head_of_values(params)
    return None if params_head is None else FrameHead(method, id, params_head)


def _end_span(span: AbstractContextManager[Any], response: asyncio.Future[Raw]) -> None:
    """End the span of a request with its outcome."""
    error = asyncio.CancelledError() if response.cancelled() else response.exception()
    if error is None:
        span.__exit__(None, None, None)
    else:
        span.__exit__(type(error), error, error.__traceback__)


def _run_callbacks(request: PendingRequest, outcome: Raw | Exception) -> Raw | Exception:
    """Run the callbacks of a request; an exception they raise becomes the outcome."""
    if request.future.done():
        return outcome
    try:
        if request.on_result is not None and isinstance(outcome, Raw):
            request.on_result(read_result(request.method.result, request.method.name, outcome))
    except BaseException as error:  # noqa: BLE001 - not swallowed: `request` raises it
        outcome = as_exception(error)
    try:
        if request.on_error is not None and isinstance(outcome, AcpError):
            request.on_error(outcome)
    except BaseException as error:  # noqa: BLE001 - as above
        outcome = as_exception(error)
    return outcome


def _settle(item: tuple[PendingRequest, Raw | Exception]) -> None:
    request, outcome = item
    request.settle(outcome)


def read_result(tp: Any, method: str, raw: Raw) -> Any:
    """Decode a result into its type.

    Raises:
        RemoteProtocolError: The result does not match the type.
    """
    try:
        return raw if tp is Raw else decode(tp, raw, "result")
    except MalformedValue as error:
        raise RemoteProtocolError(f"the response to {method} is malformed: {error}") from error


class EarlyUpdates:
    """The known sessions, and the updates held for unknown ones."""

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._known: set[str] = set()
        self._held: dict[str, list[tuple[int, Handler, Any]]] = {}
        self._count = 0
        self._bytes = 0
        self.opening = 0
        """The number of pending requests whose response will name a session."""

    def mark_known(self, session: str) -> None:
        """Remember a session that a request of ours, or a response to one, has named."""
        self._known.add(session)

    def forget(self, session: str) -> None:
        """Forget a session that was closed."""
        self._known.discard(session)

    def hold(self, session: str, frame_bytes: int, handler: Handler, params: Any) -> bool:
        """Hold an update of an unknown session; return whether it was held."""
        if session in self._known:
            return False
        self._held.setdefault(session, []).append((frame_bytes, handler, params))
        self._count += 1
        self._bytes += frame_bytes + ITEM_BYTES
        return True

    @property
    def is_full(self) -> bool:
        """Whether more is held than the limits allow."""
        return self._count > self._limit or self._bytes > self._limit_bytes

    @property
    def sessions(self) -> list[str]:
        """The sessions with held updates."""
        return list(self._held)

    def release(self, session: str) -> list[tuple[int, Handler, Any]]:
        """Return and remove the updates held for a session."""
        held = self._held.pop(session, [])
        self._count -= len(held)
        self._bytes -= sum(frame_bytes + ITEM_BYTES for frame_bytes, _, _ in held)
        return held
