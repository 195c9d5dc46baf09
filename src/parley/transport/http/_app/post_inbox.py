"""POST requests: the delivery of one message from a client to the agent.

A POST of `initialize` creates a connection and returns the agent's response. Every other message
gets status 202 as soon as the agent has it; the agent's response comes on a stream. The order of
numbered messages is in `post_order.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeAlias

from parley._task_owner import TaskOwner
from parley.errors import ConnectionClosed, InvalidParams
from parley.rpc._codec import decode
from parley.rpc._message import (
    Batch,
    Failure,
    Malformed,
    Notification,
    Request,
    Success,
)
from parley.transport._frame_head import peek_params
from parley.transport.http._asgi_types import Receive
from parley.transport.http._negotiation import MESSAGE, SESSION_ID
from parley.transport.http._stream_routing import (
    FORK,
    INITIALIZE,
    Scope,
    needs_header,
    scope_of,
)

from .connection import RemoteConnection
from .limits import AppLimits
from .local_server_guard import LocalServerGuard, encode_error_response
from .post_order import Deliver, PostOrder
from .responses import Headers, HttpError, parse_number
from .stream_router import StreamRouter

Message: TypeAlias = Request | Notification | Success | Failure

Deadline: TypeAlias = asyncio.Future[None]
"""A future that is cancelled when the deadline for `initialize` has passed."""

_WATCH_AFTER = 1.0
_NO_SESSION = "The header Acp-Session-Id is missing: this message belongs to a session"
_OTHER_SESSION = "The header Acp-Session-Id and the message name different sessions"
_PERMANENT_STATUSES = frozenset({400, 413, 415, 501})
"""Statuses that are final for a message: if it is numbered, it counts as received."""
_LIMIT_CODES = frozenset({"too_many_requests", "too_many_sessions"})
"""Error codes that are final as well: the caller has to decide what to do about the limit."""


class BodyBudget:
    """A limit on the bytes that are being read for all requests together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = 0

    def add(self, size: int) -> None:
        """Count bytes that were read.

        Raises:
            HttpError: The limit would be exceeded.
        """
        if self._bytes + size > self._limit:
            raise HttpError(
                503,
                "too_many_bytes",
                "Too many bytes are being received at the moment; try again later",
            )
        self._bytes += size

    def remove(self, size: int) -> None:
        """Release bytes that were delivered or dropped."""
        self._bytes -= size


class ClientDisconnected(Exception):
    """The client disconnected before its request was complete, or before it had a response."""


def check_content(headers: Headers) -> None:
    """Check that the content type is JSON.

    Raises:
        HttpError: The content type is missing or something else.
    """
    kind = headers.one(b"content-type") or ""
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "not_json", "Content-Type must be application/json")


async def read_body(receive: Receive, headers: Headers, limit: int, bodies: BodyBudget) -> bytes:
    """Read a whole body; the caller must remove its length from `bodies` later.

    Raises:
        HttpError: The body is too long, or `bodies` is full.
        ClientDisconnected: The client has disconnected.
    """
    content_length = headers.one(b"content-length")
    if (
        content_length is not None
        and content_length.isdecimal()
        and int(content_length[:20]) > limit
    ):
        raise _too_long(limit)
    chunks: list[bytes] = []
    size = 0
    try:
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk: bytes = event.get("body", b"")
            bodies.add(len(chunk))
            size += len(chunk)
            if size > limit:
                raise _too_long(limit)
            chunks.append(chunk)
            if not event.get("more_body", False):
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    except BaseException:  # also when cancelled: release its bytes
        bodies.remove(size)
        raise


def _too_long(limit: int) -> HttpError:
    return HttpError(413, "too_long", f"A message must not exceed {limit} bytes")


def read_message(body: bytes) -> Message:
    """Decode a body as one message.

    Raises:
        HttpError: It is not a message, or is a batch.
    """
    if body.lstrip()[:1] == b"[":
        raise HttpError(501, "batch", "Batches are not supported; send the messages one by one")
    message = decode(body)
    if isinstance(message, Request | Notification | Success | Failure):
        return message
    assert not isinstance(message, Batch)
    problem = message.problem if isinstance(message, Malformed) else "empty"
    raise HttpError(400, "not_a_message", f"The body is not a JSON-RPC message: it is {problem}")


async def deliver_initialize(
    connection: RemoteConnection,
    message: Request,
    body: bytes,
    receive: Receive,
    deadline: Deadline,
) -> bytes:
    """Deliver `initialize` and return the agent's response; without one, end the connection.

    Raises:
        HttpError: The agent has ended, or takes too long.
        ClientDisconnected: The client has disconnected.
    """
    assert isinstance(connection.sink, StreamRouter)
    response = connection.sink.initialize_response(message.id)
    try:
        async with TaskOwner("the response to initialize") as tasks:
            disconnecting = tasks.create_task(_wait_for_disconnect(receive))
            with suppress(ConnectionClosed):
                connection.deliver(body)
            pending: set[asyncio.Future[Any]] = {response, disconnecting, deadline}
            await asyncio.wait(pending, return_when="FIRST_COMPLETED")
        if response.cancelled():
            raise HttpError(502, "agent_ended", "The agent ended before it responded to initialize")
        if response.done():
            return response.result()
        if not disconnecting.cancelled():
            raise ClientDisconnected
        raise HttpError(504, "agent_silent", "The agent did not respond to initialize in time")
    finally:
        if not response.done():
            connection.end(ConnectionClosed("the connection was not initialized"))


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def _watch_disconnect(
    receive: Receive, on_disconnect: Callable[[], None]
) -> AsyncGenerator[None]:
    """Call `on_disconnect` if the client disconnects while its message waits.

    Most messages wait so briefly that no task is started for it.
    """

    async def watch() -> None:
        await _wait_for_disconnect(receive)
        on_disconnect()

    loop = asyncio.get_running_loop()
    async with TaskOwner("a message that waits for the agent") as tasks:
        timer = loop.call_later(_WATCH_AFTER, lambda: tasks.create_task(watch()))
        try:
            yield
        finally:
            timer.cancel()


class PostInbox:
    """The inbox for the posted messages of one connection; delivers them to the agent."""

    def __init__(
        self,
        connection: RemoteConnection,
        *,
        limits: AppLimits,
        bodies: BodyBudget,
        post_order: PostOrder | None,
        check_sessions: Callable[[], None],
        guard: LocalServerGuard,
    ) -> None:
        """Create the inbox of a connection.

        Args:
            connection: The connection that the messages go to.
            limits: Limits on the size and the number of messages.
            bodies: Counts the bytes that are being read.
            post_order: Orders numbered messages; None if messages have no numbers.
            check_sessions: Raises `HttpError` if no further session may be opened.
            guard: Refuses requests that name commands or local addresses.
        """
        assert isinstance(connection.sink, StreamRouter)
        self._router = connection.sink
        self._connection = connection
        self._limits = limits
        self._bodies = bodies
        self._post_order = post_order
        self._check_sessions = check_sessions
        self._guard = guard
        self._in_progress = 0

    async def take(
        self, headers: Headers, receive: Receive, on_disconnect: Callable[[], None] | None = None
    ) -> None:
        """Read a message and deliver it; if it is numbered, after all earlier ones.

        Args:
            headers: The headers of the request.
            receive: Returns its body, and later the disconnect of the client.
            on_disconnect: Called if the client disconnects while the message waits; None if that is
                reported elsewhere.

        Raises:
            HttpError: The message is refused, permanently or for now.
            ClientDisconnected: The client disconnected before it had sent everything.
        """
        if self._in_progress >= self._limits.messages:
            raise HttpError(
                429,
                "too_many_messages",
                f"{self._limits.messages} messages are already in progress; wait for their 202",
            )
        number = self._number(headers)
        self._in_progress += 1
        try:
            if self._post_order is None or number is None or not self._post_order.has(number):
                await self._take(headers, receive, number, on_disconnect)
        except HttpError as error:
            is_final = error.status in _PERMANENT_STATUSES or error.code in _LIMIT_CODES
            order = self._post_order if is_final else None
            if order is not None and number is not None and order.skip(number):
                error.headers += ((MESSAGE, b"%d" % number),)  # so it is not sent again
            raise
        finally:
            self._in_progress -= 1

    def _number(self, headers: Headers) -> int | None:
        if self._post_order is None:
            return None
        text = headers.one(MESSAGE)
        if text is None:
            raise HttpError(
                400,
                "no_number",
                "Messages of this connection must have a number in the header Parley-Message",
            )
        return parse_number(text, "Parley-Message")

    async def _take(
        self,
        headers: Headers,
        receive: Receive,
        number: int | None,
        on_disconnect: Callable[[], None] | None,
    ) -> None:
        check_content(headers)
        body = await read_body(receive, headers, self._limits.body_bytes, self._bodies)
        try:
            message = read_message(body)
            refusal = None
            if isinstance(message, Request | Notification):
                refusal = await self._guard.refusal(message)
            take = self._prepare(message, body, headers.one(SESSION_ID), refusal)
            if on_disconnect is None:
                await self._deliver_in_order(number, take)
            else:
                async with _watch_disconnect(receive, on_disconnect):
                    await self._deliver_in_order(number, take)
        finally:
            self._bodies.remove(len(body))

    async def _deliver_in_order(self, number: int | None, take: Deliver) -> None:
        """Deliver a message, if it is numbered after all earlier ones; wait until it is taken."""
        if self._post_order is not None and number is not None:
            await self._post_order.deliver(number, take)
        elif (waiting := take()) is not None:
            await waiting

    def _prepare(
        self, message: Message, body: bytes, header: str | None, refusal: InvalidParams | None
    ) -> Deliver:
        """Check a message against its headers; return a callable that delivers or refuses it."""
        if isinstance(message, Success | Failure):
            self._check_response(message, header)
            return partial(self._deliver, message, body, "connection", None)
        if message.method == INITIALIZE:
            raise HttpError(400, "initialized", "This connection is already initialized")
        scope, session = _scope_and_session(message, header)
        if isinstance(message, Request):
            if self._router.in_flight >= self._limits.in_flight:
                limit = self._limits.in_flight
                raise HttpError(
                    429, "too_many_requests", f"{limit} requests are already waiting for a response"
                )
            is_known = session is not None and session in self._router.sessions
            if scope != "connection" and (message.method == FORK or not is_known):
                self._check_sessions()
        if refusal is not None:
            return partial(self._refuse, message, refusal, scope, session)
        return partial(self._deliver, message, body, scope, session)

    def _check_response(self, response: Success | Failure, header: str | None) -> None:
        """Reject a response whose header names another session; usually there is no header."""
        session = self._router.agent_request_session(response.id)
        if session is not None and header is not None and header != session:
            raise HttpError(400, "other_session", _OTHER_SESSION)

    def _deliver(
        self, message: Message, body: bytes, scope: Scope, session: str | None
    ) -> asyncio.Future[None] | None:
        """Prepare the route of the response, then deliver the message to the agent."""
        router = self._router
        if isinstance(message, Request):
            opens = scope == "opening" or message.method == FORK
            router.expect_response(message.id, scope, session, opens=opens)
        elif isinstance(message, Success | Failure):
            router.forget_agent_request(message.id)
        claims_session = isinstance(message, Request) or session in router.sessions
        if session is not None and claims_session and scope != "stored":
            router.claim(session)
        with suppress(ConnectionClosed):  # the caller checks afterwards that the connection is open
            return self._connection.deliver(body)
        return None

    def _refuse(
        self,
        message: Request | Notification,
        refusal: InvalidParams,
        scope: Scope,
        session: str | None,
    ) -> None:
        """Send an error response to a request as the agent would; drop a notification."""
        if isinstance(message, Request):
            opens = scope == "opening" or message.method == FORK
            self._router.expect_response(message.id, scope, session, opens=opens)
            with suppress(ConnectionClosed):
                self._connection.send(encode_error_response(message, refusal))


def _scope_and_session(
    message: Request | Notification, header: str | None
) -> tuple[Scope, str | None]:
    """Return the scope and the session of a message.

    Raises:
        HttpError: The session is missing, or the header contradicts the params.
    """
    scope = scope_of(message.method)
    if scope in ("connection", "opening"):
        return scope, None
    named = peek_params(message.params).session_id
    if header is not None and named is not None and header != named:
        raise HttpError(400, "other_session", _OTHER_SESSION)
    session = header if named is None else named
    if scope is not None and (session is None or (header is None and needs_header(message.method))):
        raise HttpError(400, "no_session", _NO_SESSION)
    return ("connection", None) if session is None else (scope or "extension", session)
