"""POST: one message of a client's on its way to the agent.

`initialize` makes a connection and is answered with the agent's own answer. Every other message is
answered with 202 as soon as the agent has it; what the agent says to it comes on a stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET

from parley.errors import ConnectionClosed
from parley.rpc.codec import decode
from parley.rpc.message import Batch, Failure, Malformed, Notification, Request, Success
from parley.transport.http.asgi_types import Receive
from parley.transport.http.negotiation import MESSAGE, SESSION_ID
from parley.transport.http.scopes import (
    FORK,
    INITIALIZE,
    Scope,
    needs_header,
    read_params,
    scope_of,
)

from .answers import Headers, Refused, parse_number
from .connection import RemoteConnection
from .limits import AppLimits
from .order import Order, Take
from .router import Router

__all__ = [
    "Bodies",
    "Gone",
    "PostBox",
    "check_content",
    "first_answer",
    "read_body",
    "read_message",
]

Message: TypeAlias = Request | Notification | Success | Failure

Late: TypeAlias = asyncio.Future[None]
"""Is done when it takes too long."""

_WATCH_AFTER = 1.0
_NO_SESSION = "The header Acp-Session-Id is missing: this message belongs to a session"
_OTHER_SESSION = "The header Acp-Session-Id names another session than the message"
_PERMANENT = frozenset({400, 413, 415, 501})
"""Refused for what it is: a numbered message then counts as had."""
_OVER_A_LIMIT = frozenset({"too_many_requests", "too_many_sessions"})
"""Likewise for what it would begin: whoever asked is to know it, and to decide about it."""


class Bodies:
    """How much is being read for all requests together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0

    def add(self, size: int) -> None:
        """Count what was read.

        Raises:
            Refused: There is too much.
        """
        if self._bytes + size > self._limit:
            raise Refused(503, "too_many_bytes", "Too many bytes are under way; try again later")
        self._bytes += size

    def remove(self, size: int) -> None:
        """Forget what was delivered."""
        self._bytes -= size


class Gone(Exception):
    """The client has gone before it had sent everything."""


def check_content(headers: Headers) -> None:
    """Refuse what is not said to be JSON.

    Raises:
        Refused: It is something else.
    """
    kind = headers.one(b"content-type") or ""
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "not_json", "Content-Type must be application/json")


async def read_body(receive: Receive, headers: Headers, limit: int, bodies: Bodies) -> bytes:
    """Read a whole body; whoever calls removes its length from `bodies`.

    Raises:
        Refused: It is too long.
        Gone: The client has gone.
    """
    stated = headers.one(b"content-length")
    if stated is not None and stated.isdecimal() and int(stated[:20]) > limit:
        raise _too_long(limit)
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                raise Gone
            part: bytes = event.get("body", b"")
            bodies.add(len(part))
            size += len(part)
            if size > limit:
                raise _too_long(limit)
            parts.append(part)
            if not event.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)
    except BaseException:  # also when cancelled: its bytes count no more
        bodies.remove(size)
        raise


def _too_long(limit: int) -> Refused:
    return Refused(413, "too_long", f"A message has at most {limit} bytes")


def read_message(body: bytes) -> Message:
    """Read a body as one message.

    Raises:
        Refused: It is none, or several.
    """
    if body.lstrip()[:1] == b"[":
        raise Refused(501, "batch", "Arrays of messages are not taken here; send them one by one")
    message = decode(body)
    if isinstance(message, Request | Notification | Success | Failure):
        return message
    assert not isinstance(message, Batch)
    problem = message.problem if isinstance(message, Malformed) else "nothing"
    raise Refused(400, "not_a_message", f"The body is no JSON-RPC message: it is {problem}")


async def first_answer(
    connection: RemoteConnection, message: Request, body: bytes, receive: Receive, late: Late
) -> bytes:
    """Have the agent answer initialize; the connection ends if it does not.

    Raises:
        Refused: It has failed, or takes too long.
        Gone: The client does not wait for it.
    """
    assert isinstance(connection.outlet, Router)
    answer = connection.outlet.first_answer(message.id)
    leaving = asyncio.create_task(_gone(receive))
    try:
        with suppress(ConnectionClosed):
            connection.deliver(body)
        firsts: set[asyncio.Future[Any]] = {answer, leaving, late}
        await asyncio.wait(firsts, return_when="FIRST_COMPLETED")
        if answer.done() and not answer.cancelled():
            return answer.result()
        if answer.cancelled():
            raise Refused(502, "agent_ended", "The agent has ended before it answered initialize")
        if leaving.done():
            raise Gone
        raise Refused(504, "agent_silent", "The agent has not answered initialize in time")
    finally:
        leaving.cancel()
        if not answer.done():
            connection.lose(ConnectionClosed("the connection was not initialized"))


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@contextmanager
def _watching(receive: Receive, on_gone: Callable[[], None] | None) -> Generator[None]:
    """Learn that a client has gone whose message waits; most wait so shortly that nobody looks."""
    if on_gone is None:
        yield
        return
    loop, watching = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    async def watch() -> None:
        await _gone(receive)
        on_gone()

    timer = loop.call_later(_WATCH_AFTER, lambda: watching.append(loop.create_task(watch())))
    try:
        yield
    finally:
        timer.cancel()
        for task in watching:
            task.cancel()


class PostBox:
    """Takes the messages of one connection."""

    def __init__(
        self,
        connection: RemoteConnection,
        *,
        limits: AppLimits,
        bodies: Bodies,
        order: Order | None,
        check_sessions: Callable[[], None],
    ) -> None:
        """Take messages for a connection.

        Args:
            connection: Where they go.
            limits: What is taken.
            bodies: Counts what is read.
            order: The order of numbered messages; None where they have no numbers.
            check_sessions: Raises when there may be no further session.
        """
        assert isinstance(connection.outlet, Router)
        self._router = connection.outlet
        self._connection = connection
        self._limits = limits
        self._bodies = bodies
        self._order = order
        self._check_sessions = check_sessions
        self._under_way = 0

    async def take(
        self, headers: Headers, receive: Receive, on_gone: Callable[[], None] | None = None
    ) -> None:
        """Read a message and deliver it, in its turn if it is numbered.

        Args:
            headers: Of the request.
            receive: Gives its body, and then tells that the client has gone.
            on_gone: Is called then, while the message still waits; None where nobody need know.

        Raises:
            Refused: It is not to be delivered, or not now.
            Gone: The client has gone before it had sent everything.
        """
        if self._under_way >= self._limits.messages:
            raise Refused(
                429,
                "too_many_messages",
                f"{self._limits.messages} messages are on their way already; wait for their 202",
            )
        number = self._number(headers)
        self._under_way += 1
        try:
            if self._order is None or number is None or not self._order.has(number):
                await self._take(headers, receive, number, on_gone)
        except Refused as refused:
            is_final = refused.status in _PERMANENT or refused.code in _OVER_A_LIMIT
            order = self._order if is_final else None
            if order is not None and number is not None and order.skip(number):
                refused.headers += ((MESSAGE, b"%d" % number),)  # or it would be sent again
            raise
        finally:
            self._under_way -= 1

    def _number(self, headers: Headers) -> int | None:
        if self._order is None:
            return None
        text = headers.one(MESSAGE)
        if text is None:
            raise Refused(400, "no_number", "This connection numbers its messages: Parley-Message")
        return parse_number(text, "Parley-Message")

    async def _take(
        self,
        headers: Headers,
        receive: Receive,
        number: int | None,
        on_gone: Callable[[], None] | None,
    ) -> None:
        check_content(headers)
        body = await read_body(receive, headers, self._limits.body_bytes, self._bodies)
        try:
            take = self._plan(read_message(body), body, headers.one(SESSION_ID))
            with _watching(receive, on_gone):
                if self._order is not None and number is not None:
                    await self._order.take(number, take)
                elif (waiting := take()) is not None:
                    await waiting
        finally:
            self._bodies.remove(len(body))

    def _plan(self, message: Message, body: bytes, header: str | None) -> Take:
        """Check a message against its headers, and return how to deliver it."""
        if isinstance(message, Success | Failure):
            self._check_reply(message, header)
            return partial(self._deliver, message, body, "connection", None)
        if message.method == INITIALIZE:
            raise Refused(400, "initialized", "This connection is initialized already")
        scope, session = _place(message, header)
        if isinstance(message, Request):
            if self._router.in_flight >= self._limits.in_flight:
                most = self._limits.in_flight
                raise Refused(429, "too_many_requests", f"{most} requests wait for an answer")
            is_known = session is not None and session in self._router.sessions
            if scope != "connection" and (message.method == FORK or not is_known):
                self._check_sessions()
        return partial(self._deliver, message, body, scope, session)

    def _check_reply(self, reply: Success | Failure, header: str | None) -> None:
        """Refuse an answer that names another session; to name none is usual."""
        session = self._router.asked_session(reply.id)
        if session is not None and header is not None and header != session:
            raise Refused(400, "other_session", _OTHER_SESSION)

    def _deliver(
        self, message: Message, body: bytes, scope: Scope, session: str | None
    ) -> asyncio.Future[None] | None:
        router = self._router
        if isinstance(message, Request):
            opens = scope == "opening" or message.method == FORK
            router.expect(message.id, scope, session, opens=opens)
        elif isinstance(message, Success | Failure):
            router.answered(message.id)
        if session is not None and (isinstance(message, Request) or session in router.sessions):
            router.claim(session)
        with suppress(ConnectionClosed):  # whoever waits here learns it at the end
            return self._connection.deliver(body)
        return None


def _place(message: Request | Notification, header: str | None) -> tuple[Scope, str | None]:
    """Return where a message belongs.

    Raises:
        Refused: The session is not said, or said in two ways.
    """
    scope = scope_of(message.method)
    if scope in ("connection", "opening"):
        return scope, None
    named = read_params(message.params).session_id
    if header is not None and named is not UNSET and header != named:
        raise Refused(400, "other_session", _OTHER_SESSION)
    session = header if named is UNSET else named
    if scope is not None and (session is None or (header is None and needs_header(message.method))):
        raise Refused(400, "no_session", _NO_SESSION)
    return ("connection", None) if session is None else (scope or "session", session)
