"""One direction of a proxy: what comes from one side, its handlers, and how it goes on.

What nobody handles and has nothing before it in its lane goes on as bytes, at once. Everything else
is a `Message` for a handler; what a handler says about it is done in `_conclude` and `_finish`.
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
from parley.proxy.wire.port import Port
from parley.proxy.wire.splice import repeats
from parley.proxy.wire.traffic import Answer, Call, Note, named
from parley.rpc import _codec as codec
from parley.rpc._message import Success
from parley.schema._session_methods import CLOSES, OPENS
from parley.session._dialect import To

from .lanes import Lanes, Turn
from .message import Message, Notification, Reply, Request

if TYPE_CHECKING:
    from .end import End
    from .link import Link
    from .tools import SessionTools

__all__ = ["Handler", "Inner", "Way", "cancel_soon", "params_of"]

logger = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[Any], Any]
"""A function of the program's for a message; may be `async`."""

LANES_BYTES = 1024 * 1024
"""How much may wait for handlers before its side is not read, unless they wait for that side."""
MOST_BYTES = 32 * 1024 * 1024
"""How much may wait in any case; then what they wait for fails."""

PROMPT = "session/prompt"
_SEEN = frozenset({"initialize", PROMPT}) | OPENS | CLOSES
"""The requests whose answers are looked at."""

MANY_LANES = 64
"""In how many sessions handlers may work before it counts how much they work on."""


class Inner:
    """What the proxy itself does with a method, before any handler."""

    def __init__(self, route: Callable[[Call | Note], Port | Answer | None]) -> None:
        self.route = route


class Way:
    """One direction."""

    def __init__(self, link: Link, to: To) -> None:
        self.link = link
        self.to: To = to
        """Who hears what goes this way."""
        self.handlers: dict[str, Handler | Inner] = {}
        """By the method's name on the wire."""
        self.rest: Handler | None = None
        """Takes what has no handler of its own."""
        self.lanes = Lanes(self._check)
        self.source: Port
        """Whose messages go this way."""
        self.destination: Port
        self.reverse: Way
        """The other direction."""
        self.end: End
        """The destination, as the program speaks to it."""

    def route(self, port: Port, message: Call | Note) -> Port | Answer | None:
        """Say where something goes: on at once, or nowhere until its handler is done."""
        handler = self.handlers.get(message.method, self.rest)
        if message.session_id in self.link.busy:
            self.link.look(self, message)
        if handler is None:
            if message.session_id not in self.lanes.held:
                if isinstance(message, Call):
                    message.on_answer = self.take_answer
                    if message.method == PROMPT:
                        self.link.busy.add(message.session_id)
                elif self.link.asks and self.link.capture(self, message):
                    return None
                return self.destination
        elif isinstance(handler, Inner):
            return handler.route(message)
        return self._route(handler, message)

    def _route(self, handler: Handler | None, message: Call | Note) -> Port | None:
        if self.link.asks and isinstance(message, Note) and self.link.capture(self, message):
            return None
        if handler is not None and repeats(message.frame):
            if isinstance(message, Call):
                message.refuse(InvalidRequest("A member of the message is there twice"))
            else:
                logger.warning(
                    "%s: a member of %s is there twice; dropped", self.link.name, message.method
                )
            return None
        session_id = message.session_id
        if message.method == "session/cancel" and self.to == "agent":
            asyncio.get_running_loop().call_soon(self._cancel_prompts, session_id)
        if session_id in self.lanes.held and not self._is_asked(message):
            if isinstance(message, Call):
                message.on_cancel = _refuse_cancelled
            size = len(message.frame)
            self.lanes.put(session_id, lambda turn: self._begin(handler, message, turn), size)
        else:
            self._begin(handler, message, None)
        return None

    def _is_asked(self, message: Call | Note) -> bool:
        """Return whether the agent asks something while it works on a prompt of the proxy's own.

        It waits for the answer, and a handler that holds the lane waits for it.
        """
        is_call = isinstance(message, Call) and self.to == "client"
        return is_call and message.session_id in self.link.asks

    def holds_back(self, session_id: str) -> bool:
        """Return whether an answer has to wait; not one that a prompt of the proxy's own needs."""
        is_needed = self.to == "agent" and session_id in self.link.asks
        return session_id in self.lanes.held and not is_needed

    def _cancel_prompts(self, session_id: str) -> None:
        """End the prompts that are still here, though their handlers have begun."""
        if session_id in self.link.asks:  # then the agent ends what the handler waits for
            return
        for call in self.source.owed_calls:
            is_here = call.destination_id < 0 and call.on_cancel is not None
            if (call.method, call.session_id) == (PROMPT, session_id) and is_here:
                cancel, answer = call.on_cancel, self.link.words.cancelled_prompt
                if answer:
                    call.answer(answer)
                assert cancel is not None
                cancel(call)

    def handle(self, handler: Handler | None, message: Call | Note) -> None:
        """Give a message to a handler, in its turn, or send it on."""
        self._route(handler, message)

    def _begin(self, handler: Handler | None, traffic: Call | Note, turn: Turn | None) -> bool:
        """Call a handler; returns whether the lane is held until it is done."""
        if self.link.is_over:
            return False
        if isinstance(traffic, Call):
            if traffic.is_settled:
                return False
            traffic.on_cancel = None
        if handler is None:
            self._send_on(traffic)
            return False
        message: Message = (
            Request(self, traffic) if isinstance(traffic, Call) else Notification(self, traffic)
        )
        try:
            outcome = handler(message)
            if not inspect.isawaitable(outcome):
                message.is_over = True
                self._conclude(message, outcome)
                return False
        except BaseException as error:  # noqa: BLE001 - whatever a program raises, or returns
            self._fail(message, as_exception(error))
            return False
        if turn is None and traffic.session_id not in self.lanes.held:
            turn = self.lanes.hold(traffic.session_id, len(traffic.frame))
        message.turn = turn
        self.link.spawn(self._finish(message, outcome), message)
        return True

    async def _finish(self, message: Message, outcome: Awaitable[Any]) -> None:
        """Wait for a handler, and do what it says."""
        try:
            self._conclude(message, await outcome)
        except asyncio.CancelledError:
            self._cancelled(message)
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a program raises
            self._fail(message, as_exception(error))
        finally:
            message.is_over = True
            for turn in (message.turn, getattr(message, "answer_turn", None)):
                if turn is not None:
                    turn.end()

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
        if isinstance(outcome, Reply):
            call.settle(outcome.frame)
        elif outcome is not None:
            call.answer(message.result(outcome))
        elif message.is_forwarded:
            self._let_pass(message)
        else:
            self._send_on(call, message.session_tools)

    def _let_pass(self, message: Request) -> None:
        """Have the answer to a request that was forwarded go on, also one that is to come."""
        if message.reply is not None:
            message.call.settle(message.reply.frame)
        elif message.failure is not None:
            message.call.settle(message.failure[1])
        else:
            message.call.on_answer = self.take_answer

    def _send_on(self, traffic: Call | Note, tools: SessionTools | None = None) -> None:
        if isinstance(traffic, Note):
            self.source.forward(self.destination, traffic.frame, traffic.session_id)
        elif not traffic.is_settled:
            traffic.on_cancel = None
            traffic.on_answer = self.take_answer
            self.ask(traffic, tools)

    def ask(self, call: Call, tools: SessionTools | None) -> None:
        """Send a request on, with what the proxy itself adds to it.

        Args:
            call: The request.
            tools: What a handler gives to the session that it opens.
        """
        if self.to == "agent":
            self.link.tools.prepare(call, tools)
        if call.method == PROMPT:
            self.link.busy.add(call.session_id)
        self.destination.ask(call)

    def _fail(self, message: Message, error: Exception) -> None:
        """Do what is right when a handler has raised."""
        name = self.link.name
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
        """Let go of what a handler was cancelled with."""
        if isinstance(message, Notification):
            return
        assert isinstance(message, Request)
        if message.is_forwarded:
            self._let_pass(message)
        else:
            message.call.refuse(RequestCancelled())

    # Answers, which go the other way

    def take_answer(self, call: Call, frame: bytes, is_result: bool) -> bool:
        """See the answer to a call that went this way; it goes back in its lane."""
        if call.method in _SEEN:
            frame = self.seen(call, frame, is_result)
        back = self.reverse
        is_free = not back.lanes.held
        session_id = "" if is_free else back.session_of(call, frame, is_result)
        if back.holds_back(session_id):
            back.lanes.put(session_id, lambda _: self.settle(call, frame), len(frame))
            return True
        if call.method != "initialize":
            return False
        self.settle(call, frame)
        return True

    def settle(self, call: Call, frame: bytes) -> bool:
        """Give an answer to who asked; it holds nothing back."""
        self.destination.settle(call, frame)
        return False

    def seen(self, call: Call, frame: bytes, is_result: bool) -> bytes:
        """Look at an answer before anybody else does; returns what it is from now on."""
        if self.to == "agent":
            self.link.tools.settled(call, frame, is_result)
        if call.method == PROMPT and (self.link.words.cancelled_prompt or not is_result):
            self.link.busy.discard(call.session_id)  # otherwise an update tells the end
        if call.method == "initialize" and is_result:
            return self.link.welcome(call, frame)
        return frame

    def session_of(self, call: Call, frame: bytes, is_result: bool) -> str:
        """Return the session whose lane an answer is in: that of the call, or the one it opens."""
        if call.session_id or not is_result:
            return call.session_id
        message = codec.decode(frame)
        return named(message.result).session_id if isinstance(message, Success) else ""

    # Backpressure

    def _check(self) -> None:
        """Read no more from the source while much waits, unless handlers wait for it."""
        waits = self.reverse.end.waits
        most = MOST_BYTES if waits else LANES_BYTES
        is_much = self.lanes.bytes > most
        if len(self.lanes.held) > MANY_LANES:  # a long message or two are no flood
            is_much = is_much or self.lanes.worked_bytes > most
        if is_much and waits:
            self.reverse.end.give_up()
        if is_much:
            self.source.pause(self)
        else:
            self.source.resume(self)


def cancel_soon(task: asyncio.Task[Any]) -> None:
    """Cancel a task, but not before it has begun: then it would not clean up."""
    asyncio.get_running_loop().call_soon(task.cancel)


def _refuse_cancelled(call: Call) -> None:
    call.refuse(RequestCancelled())


def params_of(traffic: Call | Note) -> Raw:
    """Return the params of something that passes."""
    if isinstance(traffic, Call):
        return traffic.params
    message = codec.decode(traffic.frame)
    return getattr(message, "params", Raw())
