"""What comes from the peer: frames become events, events become calls of handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidParams,
    MalformedValue,
    Overloaded,
    RequestCancelled,
    RequestError,
    Unsupported,
    told,
)
from parley.rpc.codec import NOT_FITTING
from parley.rpc.engine import Answer, Call, Engine, Event, Ignored, Refusal
from parley.rpc.framing import Frame, Lines
from parley.rpc.message import ErrorObject, Notification
from parley.schema.codec import encode

from .dispatch import Dispatcher
from .limits import Limits
from .middleware import Observer, Tracer, current_trace, read_trace
from .outbound import CANCEL_REQUEST, Outbound
from .request import RequestContext, Ticket
from .routes import Route
from .updates import Group, UpdateReader

if TYPE_CHECKING:
    from .peer import Peer

__all__ = ["Inbound"]

logger = logging.getLogger(__name__)

_SMALL_BYTES = 64 * 1024
"""A request of so many bytes is never too large to be taken."""


class _CancelParams(msgspec.Struct):
    request_id: int | str | None = msgspec.field(name="requestId")


class Inbound:
    """Takes frames and has them handled."""

    def __init__(
        self,
        peer: Peer,
        engine: Engine[Ticket],
        dispatcher: Dispatcher,
        outbound: Outbound,
        *,
        limits: Limits,
        tracer: Tracer | None,
        observer: Observer | None,
    ) -> None:
        self._peer = peer
        self._engine = engine
        self._dispatcher = dispatcher
        self._outbound = outbound
        self._limits = limits
        self._tracer = tracer
        self._observer = observer
        self._contexts: dict[Call, RequestContext] = {}
        self._served_bytes = 0
        self._hooks: list[RequestContext] = []
        self._updates = UpdateReader()
        self._requests: dict[str, Route] = {}
        self._notifications: dict[str, Route] = {}

    def use(self, requests: dict[str, Route], notifications: dict[str, Route]) -> None:
        """Have these handlers called."""
        self._requests = requests
        self._notifications = notifications
        self._updates = UpdateReader(notifications.values())

    def frames_received(self, frames: Sequence[Frame]) -> None:
        """Take the frames of one read."""
        observer, early = self._observer, self._outbound.early
        if observer is None and isinstance(frames, Lines) and not early.opening:
            groups = self._updates.read_block(frames.block)
            if groups is not None:
                self._put(groups, len(frames.block))
                return
        for frame in frames:
            if observer is not None:
                observer("inbound", frame)
            if early.opening or not frame.startswith(self._updates.heads):
                update = None
            else:
                update = self._updates.read(frame)
            if update is not None:
                run, params = update
                self._dispatcher.put(params.session_id, len(frame), run, params)
            elif (event := self._engine.receive(frame)) is not None:
                self._take(event, len(frame))

    def _put(self, groups: list[Group], block_bytes: int) -> None:
        """Have the updates of a block handled."""
        for session, run, params in groups:
            self._dispatcher.put_all(session, block_bytes // len(groups), run, params)

    def _take(self, event: Event[Ticket], frame_bytes: int) -> None:
        match event:
            case Call():
                self._called(event, frame_bytes)
            case Answer(ticket, outcome):
                self._outbound.settle(ticket, outcome, frame_bytes)
            case Notification():
                self._notified(event, frame_bytes)
            case Refusal(frame, problem):
                logger.warning("%s: refused a message: %s", self._peer.name, problem)
                self._send_refusal(frame)
            case Ignored(problem, is_noise, is_late):
                level = logging.INFO if is_noise else logging.WARNING
                level = logging.DEBUG if is_late else level
                logger.log(level, "%s: ignored a message: %s", self._peer.name, problem)
            case _:
                for each in event.events:
                    self._take(each, frame_bytes // len(event.events))

    def _notified(self, event: Notification, frame_bytes: int) -> None:
        if event.method == CANCEL_REQUEST:
            self._cancel_requested(event.params)
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
            self._cancelled(session)
            self._dispatcher.put((session,), frame_bytes, route.handler, params)
        elif (
            session is not None
            and early.opening
            and early.hold(session, frame_bytes, route.handler, params)
        ):
            if early.is_full:
                self._outbound.refuse_early()
        else:
            self._dispatcher.put(session, frame_bytes, route.handler, params)

    def _cancelled(self, session: str | None) -> None:
        """Let the requests of a session know, also those that have not begun."""
        for context in self._contexts.values():
            if context.session_id == session:
                context.is_cancelled = True

    def _called(self, call: Call, frame_bytes: int) -> None:
        try:
            context = self._context(call, frame_bytes)
        except RequestError as error:
            self._refuse_now(call, error)
            return
        self._contexts[call] = context
        self._served_bytes += frame_bytes
        if self._outbound.early.opening and context.session_id is not None:
            self._outbound.release(context.session_id)
        self._dispatcher.begin(context.session_id, frame_bytes, self._begin, context)

    def _context(self, call: Call, frame_bytes: int) -> RequestContext:
        if frame_bytes > _SMALL_BYTES and self._served_bytes > self._limits.connection_bytes:
            raise Overloaded(
                f"Requests of more than {self._limits.connection_bytes} bytes are under way"
            )
        if self._engine.owed > self._limits.in_flight or (
            self._dispatcher.serving >= self._limits.in_flight
        ):
            raise Overloaded(f"More than {self._limits.in_flight} requests are under way")
        route = self._requests.get(call.method)
        if route is None:
            raise self._peer.unknown_method(call.method)
        try:
            params = route.read(call.params)
        except MalformedValue as error:
            raise InvalidParams(data={"problem": str(error)}) from error
        return RequestContext(self._peer, call, frame_bytes, route, params)

    def _begin(self, context: RequestContext) -> None:
        if context.task is None and self._outbound.lost is None:
            context.task = self._dispatcher.serve(self._serve(context))

    async def _serve(self, context: RequestContext) -> None:
        """Run a handler and answer, whatever becomes of it."""
        outcome: bytes | RequestError | None = None
        try:
            if not context.is_withdrawn:
                context.has_begun = True
                outcome = encode(await self._handle(context))
        except asyncio.CancelledError:
            if self._outbound.lost is not None:
                raise
        except (RequestError, Unsupported) as error:
            outcome = told(error)
        except Exception:  # of the program: the peer needs an answer, the log the reason
            logger.exception("%s: the handler of %s failed", self._peer.name, context.method)
            outcome = InternalError()
        finally:
            del self._contexts[context.call]
            self._served_bytes -= context.frame_bytes
        with suppress(ConnectionClosed):
            await self._answer(context, RequestCancelled() if outcome is None else outcome)

    async def _handle(self, context: RequestContext) -> Any:
        """Call the handler in the trace of its request; None is an empty result."""
        trace = read_trace(context.params)
        current_trace.set(trace)  # for this task alone
        if self._tracer is None:
            result = await context.route.handler(context.params, context)
        else:
            with self._tracer.inbound(context.method, trace):
                result = await context.route.handler(context.params, context)
        return {} if result is None else result

    async def _answer(self, context: RequestContext, outcome: bytes | RequestError) -> None:
        if isinstance(outcome, RequestError):
            context.hooks.clear()
            frame = self._engine.refuse(context.call, _error_object(outcome))
        else:
            frame = self._engine.answer(context.call, outcome)
        if frame is None:  # the rest of its array is still under way
            self._hooks.append(context)
            return
        self._outbound.send(frame)
        if context.hooks or self._hooks:
            await self._run_hooks(context)
        if (room := self._outbound.room()) is not None:
            await room

    async def _run_hooks(self, context: RequestContext) -> None:
        """Do what was to be done after the answer, also for those that waited for it."""
        group = context.call.group
        waited = [each for each in self._hooks if group is not None and each.call.group is group]
        self._hooks = [each for each in self._hooks if each not in waited]
        for hook in [hook for each in (*waited, context) for hook in each.hooks]:
            try:
                rest = hook()
                if rest is not None:
                    await rest
            except Exception:  # of the program: the other hooks still run
                logger.exception("%s: what follows %s failed", self._peer.name, context.method)

    def _cancel_requested(self, params: Raw) -> None:
        """Cancel a request of the peer's; one that is unknown or done is no matter."""
        try:
            id = msgspec.json.decode(params, type=_CancelParams).request_id
        except NOT_FITTING:
            logger.warning("%s: ignored a malformed %s", self._peer.name, CANCEL_REQUEST)
            return
        call = self._engine.find_owed(id)
        context = None if call is None else self._contexts.get(call)
        if context is None or context.is_withdrawn:
            return
        context.is_cancelled = context.is_withdrawn = True
        if context.task is not None and context.has_begun:
            context.task.cancel()
        else:
            self._begin(context)  # out of its turn, and only to be answered

    def _refuse_now(self, call: Call, error: RequestError) -> None:
        frame = self._engine.refuse(call, _error_object(error))
        if frame is not None:
            self._send_refusal(frame)

    def _send_refusal(self, frame: bytes) -> None:
        """Answer from inside the reader, which cannot wait: if there is no room, it stops."""
        with suppress(ConnectionClosed):
            self._outbound.send(frame)
            self._dispatcher.stall(self._outbound.room, len(frame))


def _error_object(error: RequestError) -> ErrorObject:
    data: Raw | UnsetType = UNSET
    if error.data is not UNSET:
        try:
            data = Raw(encode(error.data))
        except Exception:  # the program's data may fail to encode in any way
            logger.exception("the data of an error cannot be written as JSON")
    return ErrorObject(error.code, str(error.message), data)
