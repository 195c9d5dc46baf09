"""Incoming messages: frames become events, and events become handler calls.

The responses to the peer's requests are sent here too. In which order handlers run is decided in
`_dispatcher.py`, when reading pauses in `_flow_control.py`, and when a response may be built and
sent in `_response_budget.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from parley._user_code import reraise_if_ending
from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidParams,
    MalformedValue,
    Overloaded,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    Unsupported,
    as_request_error,
)
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._engine import (
    Engine,
    ErrorReply,
    Event,
    IgnoredFrame,
    IncomingRequest,
    ResponseEvent,
)
from parley.rpc._framing import Frame, LineBlock
from parley.rpc._message import ErrorObject, Notification
from parley.schema._codec import encode
from parley.transport._frame_head import FrameHead, ParamsHead, head_of_values

from ._dispatcher import Dispatcher
from ._limits import Limits
from ._outbound import CANCEL_REQUEST, Outbound
from ._request import PendingRequest, RequestContext, current_request
from ._response_budget import ResponseBudget
from ._routes import NotificationHandler, Route
from ._tracing import (
    Observers,
    Tracer,
    current_trace,
    read_trace,
)
from ._update_reader import UpdateGroup, UpdateReader

if TYPE_CHECKING:
    from ._peer import Peer


logger = logging.getLogger(__name__)

_SMALL_BYTES = 64 * 1024
"""A request of at most this size is accepted even if `connection_bytes` are in use."""


class _CancelParams(msgspec.Struct):
    request_id: int | str | None = msgspec.field(name="requestId")


class Inbound:
    """The incoming half of a connection: decodes frames and dispatches them to handlers."""

    def __init__(
        self,
        peer: Peer,
        engine: Engine[PendingRequest],
        dispatcher: Dispatcher,
        outbound: Outbound,
        *,
        limits: Limits,
        tracer: Tracer | None,
        observers: Observers | None,
    ) -> None:
        self._peer = peer
        self._engine = engine
        self._dispatcher = dispatcher
        self._outbound = outbound
        self._flow = dispatcher.flow
        self._limits = limits
        self._tracer = tracer
        self._observers = observers
        self._contexts: dict[IncomingRequest, RequestContext] = {}
        self._served_bytes = 0
        self._budget = ResponseBudget(limits.response_bytes)
        self._unsent: list[RequestContext] = []
        self._updates = UpdateReader()
        self._requests: dict[str, Route] = {}
        self._notifications: dict[str, Route] = {}

    def set_handlers(self, requests: dict[str, Route], notifications: dict[str, Route]) -> None:
        """Replace the routes of requests and notifications."""
        self._requests = requests
        self._notifications = notifications
        self._updates = UpdateReader(notifications.values())

    def frames_received(self, frames: Sequence[Frame]) -> None:
        """Handle the frames of one read."""
        early = self._outbound.early
        if isinstance(frames, LineBlock) and not early.opening:
            # The fast path: a block that holds nothing but updates is decoded in one call.
            groups = self._updates.read_block(frames.block)
            if groups is not None:
                self._on_updates(frames, groups, len(frames.block))
                return
        for frame in frames:
            if early.opening or not frame.startswith(self._updates.heads):
                update = None
            else:
                update = self._updates.read(frame)
            if update is not None:
                self._on_updates((frame,), (update,), len(frame))
                continue
            if self._observers is not None:
                self._observers.observe("inbound", frame)
            if (event := self._engine.receive(frame)) is not None:
                self._handle_event(event, len(frame))

    def _on_updates(
        self, frames: Sequence[Frame], groups: Sequence[UpdateGroup], frame_bytes: int
    ) -> None:
        """Show decoded updates to the observers, then queue them for handling."""
        if self._observers is not None:
            self._observers.observe_updates(frames, groups)
        for group in groups:
            self._dispatcher.enqueue_many(
                group.session_id, frame_bytes // len(groups), group.handler, group.params
            )

    def _handle_event(self, event: Event[PendingRequest], frame_bytes: int) -> None:
        match event:
            case IncomingRequest():
                self._on_request(event, frame_bytes)
            case ResponseEvent(pending, outcome):
                if isinstance(outcome, RemoteProtocolError):
                    logger.warning("%s: %s: %s", self._peer.name, pending.method.name, outcome)
                self._outbound.settle(pending, outcome, frame_bytes)
            case Notification():
                self._on_notification(event, frame_bytes)
            case ErrorReply(frame, problem):
                logger.warning("%s: rejected a message: %s", self._peer.name, problem)
                self._send_error_response(frame)
            case IgnoredFrame(problem, is_noise, is_late):
                level = logging.INFO if is_noise else logging.WARNING
                level = logging.DEBUG if is_late else level
                logger.log(level, "%s: ignored a message: %s", self._peer.name, problem)
            case _:
                for each in event.events:
                    self._handle_event(each, frame_bytes // len(event.events))

    def _on_notification(self, event: Notification, frame_bytes: int) -> None:
        if event.method == CANCEL_REQUEST:
            self._on_cancel_request(event.params)
            return
        route = self._notifications.get(event.method)
        if route is None:
            logger.debug("%s: ignored the notification %s", self._peer.name, event.method)
            return
        try:
            params = route.read(event.params)
        except MalformedValue as error:
            logger.warning("%s: ignored %s: %s", self._peer.name, event.method, error)
            return
        session = route.session_of(params, event.params)
        early = self._outbound.early
        if route.is_urgent:
            self._mark_cancelled(session)
            # A key of its own, so a lane of its own: this passes the barrier of the session.
            self._dispatcher.enqueue((session,), frame_bytes, route.handler, params)
        elif (
            session is not None
            and early.opening
            and early.hold(session, frame_bytes, route.handler, params)
        ):
            if early.is_full:
                self._outbound.fail_opening_requests()
        else:
            handler = _handler_in_trace(route, params, event.params)
            self._dispatcher.enqueue(session, frame_bytes, handler, params)

    def _mark_cancelled(self, session: str | None) -> None:
        """Mark the requests of a session as cancelled, including those that have not started."""
        for context in self._contexts.values():
            if context.session_id == session:
                context.is_cancelled = True

    def _on_request(self, call: IncomingRequest, frame_bytes: int) -> None:
        try:
            context = self._make_context(call, frame_bytes)
        except RequestError as error:
            self._reject_request(call, error)
            return
        self._contexts[call] = context
        self._served_bytes += frame_bytes
        if self._outbound.early.opening and context.session_id is not None:
            self._outbound.release(context.session_id)
        self._dispatcher.start_request(context.session_id, frame_bytes, self._start, context)

    def _make_context(self, call: IncomingRequest, frame_bytes: int) -> RequestContext:
        if frame_bytes > _SMALL_BYTES and self._served_bytes > self._limits.connection_bytes:
            raise Overloaded(
                f"Pending requests have more than {self._limits.connection_bytes} bytes in total"
            )
        if self._engine.incoming_count > self._limits.in_flight or (
            self._dispatcher.serving >= self._limits.in_flight
        ):
            raise Overloaded(f"More than {self._limits.in_flight} requests are pending")
        route = self._requests.get(call.method)
        if route is None:
            raise self._peer.unknown_method(call.method)
        try:
            params = route.read(call.params)
        except MalformedValue as error:
            raise InvalidParams(data={"problem": str(error)}) from error
        return RequestContext(self._peer, call, frame_bytes, route, params, self._budget)

    def _start(self, context: RequestContext) -> None:
        if context.task is None and self._outbound.lost is None:
            context.task = self._dispatcher.serve(self._serve(context))

    async def _serve(self, context: RequestContext) -> None:
        """Run a request handler and send its response, even if it fails."""
        try:
            with suppress(ConnectionClosed):
                await self._respond(context, await self._outcome(context))
        finally:
            context.is_done = True
            current_request.set(None)  # so that the task's context does not keep the request alive
            if context.reserved_bytes:
                self._budget.release(context.reserved_bytes)

    async def _outcome(self, context: RequestContext) -> bytes | RequestError:
        """Run a handler when the response budget allows, and return its encoded result or error."""
        try:
            if context.is_withdrawn:
                return RequestCancelled()
            context.has_started = True
            if context.call.batch is not None:
                return self._hold(context, encode(await self._call_handler(context)))
            budget = self._budget
            if budget.is_crowded:
                await budget.wait_to_start()
            result = await self._call_handler(context)
            if budget.is_crowded and not context.reserved_bytes:
                await budget.wait_to_finish()
            return encode(result)
        except asyncio.CancelledError:
            if self._outbound.lost is not None:
                raise
            return RequestCancelled()
        except (RequestError, Unsupported) as error:
            return as_request_error(error)
        except (
            BaseException
        ) as error:  # user code: the peer needs a response, and the log needs the reason
            reraise_if_ending(error)
            logger.exception("%s: the handler of %s failed", self._peer.name, context.method)
            return InternalError()
        finally:
            del self._contexts[context.call]
            self._served_bytes -= context.frame_bytes

    def _hold(self, context: RequestContext, result: bytes) -> bytes:
        """Count a result that waits for the other responses of its batch.

        Raises:
            Overloaded: The result does not fit. It cannot wait for room: the responses it would
                wait for are themselves waiting for it.
        """
        self._budget.release(context.reserved_bytes)
        context.reserved_bytes = 0
        if not self._budget.hold(len(result)):
            raise self._budget.overloaded()
        context.held_bytes = len(result)
        return result

    async def _call_handler(self, context: RequestContext) -> Any:
        """Call the handler in the trace context of its request; None becomes an empty result."""
        trace = read_trace(context.params, context.call.params)
        current_trace.set(trace)  # affects only this task
        current_request.set(context)
        if self._tracer is None:
            result = await context.route.handler(context.params, context)
        else:
            with self._tracer.inbound(context.method, trace):
                result = await context.route.handler(context.params, context)
        context.result_head = head_of_values(result)
        return {} if result is None else result

    async def _respond(self, context: RequestContext, outcome: bytes | RequestError) -> None:
        if isinstance(outcome, RequestError):
            context.hooks.clear()
            frame = self._engine.respond_with_error(context.call, _error_object(outcome))
            result: ParamsHead | UnsetType | None = UNSET
        else:
            frame = self._engine.respond(context.call, outcome)
            result = context.result_head
        del outcome  # the traceback of an error refers to the params
        if frame is None:  # other requests of its batch are still pending
            self._unsent.append(context)
            return
        head = None
        if result is not None and context.call.batch is None:
            head = FrameHead(id=context.id, result=result)
        self._outbound.send(frame, head)
        sent = (context,) if context.call.batch is None else self._take_batch(context)
        drained = self._outbound.drained()
        if drained is None:
            if context.hooks or len(sent) > 1:
                await self._run_hooks(sent)
            return
        # The peer is slow: count the frame until there is room; its reserved part already counts.
        size_bytes = max(len(frame) - context.reserved_bytes, 0)
        self._budget.add(size_bytes)
        try:
            await self._run_hooks(sent)
            for each in sent:  # nothing counts their params any more
                each.params, each.call.params = None, Raw()
            await drained
        finally:
            self._budget.release(size_bytes)

    def _take_batch(self, last: RequestContext) -> Sequence[RequestContext]:
        """Return the requests of a batch whose responses were sent together, in response order."""
        batch = last.call.batch
        contexts = [each for each in self._unsent if each.call.batch is batch]
        self._unsent = [each for each in self._unsent if each.call.batch is not batch]
        contexts.append(last)
        for each in contexts:
            self._budget.release_held(each.held_bytes)
        return contexts

    async def _run_hooks(self, contexts: Sequence[RequestContext]) -> None:
        """Run the `after_response` hooks of these requests."""
        for context in contexts:
            for hook in context.hooks:
                try:
                    waiting = hook()
                    if waiting is not None:
                        await waiting
                except BaseException as error:  # user code: the other hooks still run
                    reraise_if_ending(error)
                    logger.exception(
                        "%s: a hook after the response to %s failed",
                        self._peer.name,
                        context.method,
                    )

    def _on_cancel_request(self, params: Raw) -> None:
        """Cancel a request from the peer; ignore one that is unknown or done."""
        try:
            id = msgspec.json.decode(params, type=_CancelParams).request_id
        except DECODE_ERRORS:
            logger.warning("%s: ignored a malformed %s", self._peer.name, CANCEL_REQUEST)
            return
        call = self._engine.find_incoming(id)
        context = None if call is None else self._contexts.get(call)
        if context is None or context.is_withdrawn:
            return
        context.is_cancelled = context.is_withdrawn = True
        if context.task is not None and context.has_started:
            context.task.cancel()
        else:
            self._start(context)  # ahead of its turn, only to send the error response

    def _reject_request(self, call: IncomingRequest, error: RequestError) -> None:
        frame = self._engine.respond_with_error(call, _error_object(error))
        if frame is not None:
            head = FrameHead(id=call.id) if call.batch is None else None
            self._send_error_response(frame, head)

    def _send_error_response(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send an error response from the read callback, which cannot wait.

        If there is no room to send, reading pauses.
        """
        with suppress(ConnectionClosed):
            self._outbound.send(frame, head)
            self._flow.count_error_response(len(frame))


def _handler_in_trace(route: Route, params: Any, raw: Raw) -> NotificationHandler:
    """Return the handler of a notification; extension handlers run in its trace context."""
    trace = read_trace(params, raw) if route.is_extension else None
    if trace is None:
        return route.handler

    async def handle(params: Any) -> None:
        token = current_trace.set(trace)
        try:
            waiting = route.handler(params)
            if waiting is not None:
                await waiting
        finally:
            current_trace.reset(token)  # the same task handles the next message

    return handle


def _error_object(error: RequestError) -> ErrorObject:
    data: Raw | UnsetType = UNSET
    if error.data is not UNSET:
        try:
            data = Raw(encode(error.data))
        except BaseException as failure:  # user data may fail to encode in any way
            reraise_if_ending(failure)
            logger.exception("the data of an error cannot be encoded as JSON")
    return ErrorObject(error.code, str(error.message), data)
