"""Messages from one side of a proxy to the other: handler lookup, ordering, forwarding.

A message without a handler, with nothing before it in the queue of its session, is forwarded as
bytes, at once. Any other one becomes a `Message` for a handler; `_conclude` and `_finish` carry out
what the handler decides.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw

from parley._user_code import as_exception
from parley.errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    MalformedValue,
    RequestCancelled,
    RequestError,
    Unsupported,
    as_request_error,
)
from parley.proxy._switch.messages import (
    PendingRequest,
    RawMessage,
    RawNotification,
    Route,
)
from parley.proxy._switch.port import Port
from parley.proxy._switch.splice import has_duplicate_keys
from parley.rpc import _codec as codec
from parley.rpc._message import Success
from parley.schema._session_methods import CLOSES, OPENS
from parley.session._dialect import To
from parley.transport._frame_head import peek_session

from .message import Message, Notification, Request, Response
from .peer import ProxyPeer
from .queues import QueueSlot, SessionQueues

if TYPE_CHECKING:
    from .connection import ProxyConnection
    from .tools import SessionTools


logger = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[Any], Any]
"""A function of the program's for a message; may be `async`."""

LANES_BYTES = 1024 * 1024
"""How much may wait for handlers before its side is not read, unless they wait for that side."""
MOST_BYTES = 32 * 1024 * 1024
"""How much may wait in any case; then what they wait for fails."""

PROMPT = "session/prompt"
_INSPECTED = frozenset({"initialize", PROMPT}) | OPENS | CLOSES
"""The requests whose answers are looked at."""

MANY_LANES = 64
"""In how many sessions handlers may work before it counts how much they work on."""


class InternalRoute:
    """A route of the proxy itself for a method, which precedes any handler."""

    def __init__(self, route: Callable[[RawMessage], Route]) -> None:
        self.route = route


class Direction:
    """Messages from one side of a proxy to the other: handler lookup, ordering, forwarding."""

    def __init__(
        self,
        connection: ProxyConnection,
        source: Port,
        destination: Port,
        *,
        to: To = "agent",
        opposite: Direction | None = None,
    ) -> None:
        """Prepare both directions between two ports; this one makes the other.

        Args:
            connection: The connection that both belong to.
            source: The port whose messages are handled here.
            destination: The port to which they go.
            to: The role of the destination.
            opposite: The other direction, which makes this one.
        """
        self.connection = connection
        self.to: To = to
        self.source = source
        self.destination = destination
        self.peer = ProxyPeer(connection, to, destination)
        """The destination, for messages of the proxy's own."""
        self.handlers: dict[str, Handler | InternalRoute] = {}
        """By the name of the method on the wire."""
        self.fallback: Handler | None = None
        """The handler of messages without a handler of their own."""
        self.queues = SessionQueues(self._check)
        self.opposite: Direction = opposite or Direction(
            connection, destination, source, to="client", opposite=self
        )

    def route(self, port: Port, message: RawMessage) -> Route:
        """Return the destination of a message; None while a handler or a queue has it."""
        handler = self.handlers.get(message.method, self.fallback)
        if message.session_id in self.connection.busy_sessions:
            self.connection.track_turn(self, message)
        if handler is None:
            if message.session_id not in self.queues.occupied:
                if isinstance(message, PendingRequest):
                    message.on_response = self.take_response
                    if message.method == PROMPT:
                        self.connection.busy_sessions.add(message.session_id)
                elif self.connection.prompts and self.connection.capture(self, message):
                    return None
                return self.destination
        elif isinstance(handler, InternalRoute):
            return handler.route(message)
        return self._route(handler, message)

    def _route(self, handler: Handler | None, message: RawMessage) -> Port | None:
        if (
            self.connection.prompts
            and isinstance(message, RawNotification)
            and self.connection.capture(self, message)
        ):
            return None
        if handler is not None and has_duplicate_keys(message.frame):
            if isinstance(message, PendingRequest):
                message.refuse(InvalidRequest("The message has a duplicate key"))
            else:
                logger.warning(
                    "%s: a %s has a duplicate key; dropped",
                    self.connection.name,
                    message.method,
                )
            return None
        session_id = message.session_id
        if message.method == "session/cancel" and self.to == "agent":
            asyncio.get_running_loop().call_soon(self._cancel_prompts, session_id)
        if session_id in self.queues.occupied and not self._is_agent_request(message):
            if isinstance(message, PendingRequest):
                message.on_cancel = _refuse_cancelled
            size = len(message.frame)
            self.queues.put(session_id, lambda slot: self._begin(handler, message, slot), size)
        else:
            self._begin(handler, message, None)
        return None

    def _is_agent_request(self, message: RawMessage) -> bool:
        """Return whether the agent asks something while it works on a prompt of the proxy's own.

        It waits for the answer, and a handler that holds the lane waits for it.
        """
        is_call = isinstance(message, PendingRequest) and self.to == "client"
        return is_call and message.session_id in self.connection.prompts

    def holds_back(self, session_id: str) -> bool:
        """Return whether an answer has to wait; not one that a prompt of the proxy's own needs."""
        is_needed = self.to == "agent" and session_id in self.connection.prompts
        return session_id in self.queues.occupied and not is_needed

    def _cancel_prompts(self, session_id: str) -> None:
        """End the prompts that are still here, though their handlers have begun."""
        if session_id in self.connection.prompts:  # then the agent ends what the handler waits for
            return
        for call in self.source.pending_requests:
            is_here = call.destination_id < 0 and call.on_cancel is not None
            if (call.method, call.session_id) == (PROMPT, session_id) and is_here:
                cancel, answer = call.on_cancel, self.connection.dialect.cancelled_prompt
                if answer:
                    call.respond(answer)
                assert cancel is not None
                cancel(call)

    def handle(self, handler: Handler | None, message: RawMessage) -> None:
        """Give a message to a handler, in its turn, or send it on."""
        self._route(handler, message)

    def _begin(
        self,
        handler: Handler | None,
        raw: RawMessage,
        slot: QueueSlot | None,
    ) -> bool:
        """Call a handler; return whether the lane is occupied until it is done."""
        if self.connection.is_over:
            return False
        if isinstance(raw, PendingRequest):
            if raw.is_settled:
                return False
            raw.on_cancel = None
        if handler is None:
            self._send_on(raw)
            return False
        message: Message = (
            Request(self, raw) if isinstance(raw, PendingRequest) else Notification(self, raw)
        )
        try:
            outcome = handler(message)
            if not inspect.isawaitable(outcome):
                message.is_over = True
                self._conclude(message, outcome)
                return False
        except BaseException as error:  # noqa: BLE001 - anything that a program raises, or returns
            self._fail(message, as_exception(error))
            return False
        if slot is None and raw.session_id not in self.queues.occupied:
            slot = self.queues.hold(raw.session_id, len(raw.frame))
        message.slot = slot
        self.connection.spawn(self._finish(message, outcome), message)
        return True

    async def _finish(self, message: Message, outcome: Awaitable[Any]) -> None:
        """Wait for a handler, and forward, answer or drop the message as it returns."""
        try:
            self._conclude(message, await outcome)
        except asyncio.CancelledError:
            self._cancelled(message)
            raise
        except BaseException as error:  # noqa: BLE001 - anything that a program raises
            self._fail(message, as_exception(error))
        finally:
            message.is_over = True
            for slot in (message.slot, getattr(message, "response_slot", None)):
                if slot is not None:
                    slot.end()

    def _conclude(self, message: Message, outcome: Any) -> None:
        """Do what a handler has returned."""
        if isinstance(message, Notification):
            if not message.is_dropped:
                self._send_on(message.note)
            return
        assert isinstance(message, Request)
        call = message.call
        if call.is_settled:
            return
        if isinstance(outcome, Response):
            call.settle(outcome.frame)
        elif outcome is not None:
            call.respond(message.result(outcome))
        elif message.is_forwarded:
            self._let_pass(message)
        else:
            self._send_on(call, message.session_tools)

    def _let_pass(self, message: Request) -> None:
        """Pass on the response to a forwarded request, now or when it comes."""
        if message.reply is not None:
            message.call.settle(message.reply.frame)
        elif message.failure is not None:
            message.call.settle(message.failure[1])
        else:
            message.call.on_response = self.take_response

    def _send_on(self, message: RawMessage, tools: SessionTools | None = None) -> None:
        if isinstance(message, RawNotification):
            self.source.forward(self.destination, message.frame, message.session_id)
        elif not message.is_settled:
            message.on_cancel = None
            message.on_response = self.take_response
            self.ask(message, tools)

    def ask(self, call: PendingRequest, tools: SessionTools | None) -> None:
        """Send a request on, with what the proxy itself adds to it.

        Args:
            call: The request.
            tools: What a handler gives to the session that it opens.
        """
        if self.to == "agent":
            self.connection.tools.prepare(call, tools)
        if call.method == PROMPT:
            self.connection.busy_sessions.add(call.session_id)
        self.destination.ask(call)

    def _fail(self, message: Message, error: Exception) -> None:
        """Do what is right when a handler has raised."""
        name = self.connection.name
        if isinstance(message, Notification):
            logger.error("%s: a handler failed with %r", name, message, exc_info=error)
            self._conclude(message, None)
            return
        assert isinstance(message, Request)
        if message.failure is not None and message.failure[0] is error:
            message.call.settle(message.failure[1])
        elif isinstance(error, RequestError | Unsupported):
            message.call.refuse(as_request_error(error))
        elif isinstance(error, MalformedValue) and error.path.startswith("result"):
            text = f"The answer to {message.method} cannot be used"
            message.call.refuse(InternalError(text, {"problem": str(error)}))
        elif isinstance(error, MalformedValue):
            message.call.refuse(InvalidParams(data={"problem": str(error)}))
        else:
            logger.error("%s: a handler failed with %r", name, message, exc_info=error)
            message.call.refuse(InternalError(f"The proxy {name} failed"))

    def _cancelled(self, message: Message) -> None:
        """Reject or pass on the message of a cancelled handler."""
        if isinstance(message, Notification):
            return
        assert isinstance(message, Request)
        if message.is_forwarded:
            self._let_pass(message)
        else:
            message.call.refuse(RequestCancelled())

    # Answers, which go the other way

    def take_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Pass on the response to a call that went this way; it returns in its lane."""
        if call.method in _INSPECTED:
            frame = self.inspect_response(call, frame, is_result)
        back = self.opposite
        is_free = not back.queues.occupied
        session_id = "" if is_free else back.session_of(call, frame, is_result)
        if back.holds_back(session_id):
            back.queues.put(session_id, lambda _: self.settle(call, frame), len(frame))
            return True
        if call.method != "initialize":
            return False
        self.settle(call, frame)
        return True

    def settle(self, call: PendingRequest, frame: bytes) -> bool:
        """Pass a response to the requester; it does not occupy the lane."""
        self.destination.settle(call, frame)
        return False

    def inspect_response(self, call: PendingRequest, frame: bytes, is_result: bool) -> bytes:
        """Examine a response before it is passed on, and return it, perhaps changed."""
        if self.to == "agent":
            self.connection.tools.settled(call, frame, is_result)
        if call.method == PROMPT and (self.connection.dialect.cancelled_prompt or not is_result):
            # otherwise an update ends the turn
            self.connection.busy_sessions.discard(call.session_id)
        if call.method == "initialize" and is_result:
            return self.connection.read_initialize_response(call, frame)
        return frame

    def session_of(self, call: PendingRequest, frame: bytes, is_result: bool) -> str:
        """Return the session whose lane an answer is in: that of the call, or the one it opens."""
        if call.session_id or not is_result:
            return call.session_id
        message = codec.decode(frame)
        return peek_session(message.result) if isinstance(message, Success) else ""

    # Backpressure

    def _check(self) -> None:
        """Read no more from the source while much waits, unless handlers wait for it."""
        waits = self.opposite.peer.awaited
        most = MOST_BYTES if waits else LANES_BYTES
        is_much = self.queues.bytes > most
        if len(self.queues.occupied) > MANY_LANES:  # one or two long messages are not a flood
            is_much = is_much or self.queues.worked_bytes > most
        if is_much and waits:
            self.opposite.peer.give_up()
        if is_much:
            self.source.pause(self)
        else:
            self.source.resume(self)


def cancel_soon(task: asyncio.Task[Any]) -> None:
    """Cancel a task, but not before it has begun: then it would not clean up."""
    asyncio.get_running_loop().call_soon(task.cancel)


def _refuse_cancelled(call: PendingRequest) -> None:
    call.refuse(RequestCancelled())


def params_of(message: RawMessage) -> Raw:
    """Return the params of something that passes."""
    if isinstance(message, PendingRequest):
        return message.params
    decoded = codec.decode(message.frame)
    return getattr(decoded, "params", Raw())
