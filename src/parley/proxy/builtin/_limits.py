"""`limits`: how long, how often and how much at once.

What goes beyond is refused with `Overloaded`. A notification cannot be refused: one that comes too
fast waits, and its sender with it; one that is too long is dropped, and the log says so. Cancelling
is never limited.
"""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from asyncio import sleep
from collections.abc import Awaitable
from contextlib import suppress
from time import monotonic

from msgspec import Struct

from parley._argtypes import byte_size, positive_float, positive_int
from parley.errors import MalformedValue, Overloaded
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Message, Notification, Request, Response
from parley.proxy._proxy import Proxy
from parley.schema import v2
from parley.schema._session_methods import CLOSES, OPENS, REOPENS

logger = logging.getLogger(__name__)

_CANCELS = "session/cancel"


class _Bounds(Struct, frozen=True, kw_only=True):
    """The limits of a connection; None means unlimited."""

    message_bytes: int | None = None
    per_second: float | None = None
    prompts: int | None = None
    sessions: int | None = None


class _Rate:
    """The maximum number of messages per second, and of those at once."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._most = max(1.0, per_second)
        self._left = self._most
        self._at = monotonic()

    def take(self) -> float:
        """Count a message; returns for how many seconds it is too early."""
        now = monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        self._left -= 1
        return max(0.0, -self._left / self._per_second)

    def give_back(self) -> None:
        """Return a token: the message was refused."""
        self._left += 1


class _Limited:
    """The usage of a connection."""

    def __init__(self, bounds: _Bounds) -> None:
        rate = bounds.per_second
        self.rates = None if rate is None else {True: _Rate(rate), False: _Rate(rate)}
        self.sessions: set[str] = set()
        self.opening = 0
        self.running: list[str] = []
        """The sessions of the prompts that are worked on."""

    def end(self, session_id: str) -> None:
        """Record that nothing is worked on in a session."""
        self.running = [each for each in self.running if each != session_id]


def limits(
    *,
    message_bytes: int | None = None,
    per_second: float | None = None,
    prompts: int | None = None,
    sessions: int | None = None,
) -> Proxy:
    """Return a proxy that holds a client and an agent to limits, for each connection.

    Args:
        message_bytes: How long a message may be.
        per_second: How many messages may come in a second, from each side.
        prompts: How many prompts may be worked on at once.
        sessions: How many sessions may be open at once.

    Raises:
        ValueError: No limit was passed, or one that is not positive.
    """
    limits = (message_bytes, per_second, prompts, sessions)
    if not any(each is not None for each in limits):
        raise ValueError(
            "pass at least one limit: message bytes, messages per second, prompts or sessions"
        )
    if any(each is not None and each <= 0 for each in limits):
        raise ValueError("a limit is above zero")
    bounds = _Bounds(
        message_bytes=message_bytes, per_second=per_second, prompts=prompts, sessions=sessions
    )
    proxy = Proxy("limits")

    @proxy.open_connection
    async def begin(connection: ProxyConnection) -> None:
        connection.state["limited"] = _Limited(bounds)

    def look(message: Message) -> Awaitable[Response | None] | None:
        if isinstance(message, Notification):
            return _notified(bounds, message)
        assert isinstance(message, Request)
        return _requested(bounds, message)

    proxy.from_client("*")(look)
    proxy.from_agent("*")(look)
    return proxy


def _notified(bounds: _Bounds, note: Notification) -> Awaitable[None] | None:
    limited: _Limited = note.connection.state["limited"]
    if limited.running and note.kind == "state_update":
        ends = (each for each in note.updates if isinstance(each, v2.StateUpdated))
        if any(each.state == "idle" for each in ends):
            limited.end(note.session_id)
    if bounds.message_bytes is not None and len(note.frame) > bounds.message_bytes:
        logger.warning("%s has %d bytes and is left out", note.method, len(note.frame))
        note.drop()
        return None
    if limited.rates is None or note.method == _CANCELS:
        return None
    early = limited.rates[note.is_from_client].take()
    return sleep(early) if early > 0 else None


async def _requested(bounds: _Bounds, request: Request) -> Response:
    limited: _Limited = request.connection.state["limited"]
    most = bounds.message_bytes
    if most is not None and len(request.frame) > most:
        raise Overloaded(f"A message has at most {most} bytes, and this one {len(request.frame)}")
    _check_rate(bounds, limited, request)
    if request.is_from_client and request.method == "session/prompt":
        reply = await _prompt(bounds, limited, request)
    elif request.is_from_client and request.method in OPENS:
        reply = await _open(bounds, limited, request)
    else:
        reply = await request.forward()
        if request.method in CLOSES:
            limited.sessions.discard(request.session_id)
            limited.end(request.session_id)
    if most is not None and len(reply.raw) > most:
        raise Overloaded(f"A message has at most {most} bytes, and the answer {len(reply.raw)}")
    return reply


def _check_rate(bounds: _Bounds, limited: _Limited, request: Request) -> None:
    if limited.rates is None:
        return
    rate = limited.rates[request.is_from_client]
    if rate.take() > 0:
        rate.give_back()
        raise Overloaded(f"There are at most {bounds.per_second:g} messages in a second")


async def _prompt(bounds: _Bounds, limited: _Limited, request: Request) -> Response:
    session_id = request.session_id
    if bounds.prompts is not None and len(limited.running) >= bounds.prompts:
        raise Overloaded(f"Too many prompts are worked on at once (at most {bounds.prompts})")
    limited.running.append(session_id)
    is_over = True
    try:
        reply = await request.forward()
        is_over = not isinstance(reply.result, v2.PromptResponse)  # else an update reports its end
    finally:
        if is_over and session_id in limited.running:
            limited.running.remove(session_id)
    return reply


async def _open(bounds: _Bounds, limited: _Limited, request: Request) -> Response:
    is_open = request.method in REOPENS and request.session_id in limited.sessions
    most = bounds.sessions
    if most is not None and not is_open and len(limited.sessions) + limited.opening >= most:
        raise Overloaded(f"Too many sessions are open (at most {most}); close one")
    limited.opening += 1
    try:
        reply = await request.forward()
        with suppress(MalformedValue):
            limited.sessions.add(getattr(reply.result, "session_id", request.session_id))
    finally:
        limited.opening -= 1
    return reply


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("--message-bytes", type=byte_size, metavar="SIZE", help="of a message")
    parser.add_argument("--per-second", type=positive_float, metavar="N", help="messages, each way")
    parser.add_argument(
        "--prompts", type=positive_int, metavar="N", help="that are worked on at once"
    )
    parser.add_argument("--sessions", type=positive_int, metavar="N", help="that are open at once")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return limits(**{name: getattr(options, name) for name in _Bounds.__struct_fields__})
