"""Servers over ACP as MCP servers over HTTP, for agents that reach such.

It is MCP's streamable HTTP. A client that begins with `initialize` gets a session, in which it may
also listen for messages that the server sends unasked. A client of the newer revision has none, and
each of its requests stands for itself. A response is JSON, or a stream of events if messages are
sent before it or it takes long. Disconnecting before the response cancels the request.

Spec: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw

from parley.asgi_server.extensions import ON_DISCONNECT, OnDisconnect
from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server
from parley.schema.base import JsonObject
from parley.transport.http._app.access import Access
from parley.transport.http._app.responses import Headers, HttpError
from parley.transport.http._asgi_types import Receive, Scope, Send

from ._channels import Id, McpChannels
from ._endpoint import MAX_BYTES, MAX_WAITING, Endpoint, decode_message, encode_message, logger

_KEEP_ALIVE_SECONDS = 15.0
_MAX_SESSIONS = 64
_SESSION = "mcp-session-id"
_EVENTS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


class HttpListener:
    """A server on loopback for all endpoints of a bridge."""

    def __init__(self, channels: McpChannels, endpoints: Mapping[str, Endpoint]) -> None:
        self._channels = channels
        self._endpoints = endpoints
        self._sessions: dict[str, tuple[Endpoint, _HttpConversation]] = {}
        self._access = Access()
        self._server = Server(self, limits=ServerLimits(body_bytes=MAX_BYTES))

    async def open(self) -> None:
        """Begin to listen."""
        await self._server.__aenter__()

    def declaration(self, endpoint: Endpoint) -> dict[str, Raw]:
        """Return the declaration of an endpoint for an agent."""
        host, port = self._server.addresses[0]
        headers = [{"name": "Authorization", "value": f"Bearer {endpoint.token}"}]
        values: JsonObject = {
            "type": "http",
            "url": f"http://{host}:{port}/{endpoint.slot}/mcp",
            "headers": headers,
        }
        return {name: Raw(encode_message(value)) for name, value in values.items()}

    async def aclose(self) -> None:
        """Stop."""
        await self._server.shutdown(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; see the specification of ASGI."""
        if scope["type"] != "http":
            return
        request_headers = Headers(scope["headers"])
        try:
            self._access.check_host_and_origin(scope, request_headers)
            token = _token(request_headers)
        except HttpError as refused:
            await _respond(send, refused.status)
            return
        headers = _headers(scope["headers"])
        endpoint = self._endpoint(scope["path"])
        if endpoint is None:
            await _respond(send, 404)
        elif not endpoint.fits(token):
            await _respond(send, 401, headers={"www-authenticate": "Bearer"})
        elif scope["method"] == "POST" and not _is_json(request_headers):
            await _respond(send, 415)
        elif scope["method"] == "POST":
            await self._post(endpoint, headers, scope, receive, send)
        else:
            await self._other(endpoint, headers, scope, send)

    def _endpoint(self, path: str) -> Endpoint | None:
        found = (each for each in self._endpoints.values() if path == f"/{each.slot}/mcp")
        return next(found, None)

    def _find_conversation(
        self, endpoint: Endpoint, headers: Mapping[str, str]
    ) -> _HttpConversation | None:
        """Return the conversation of a session; sessions of other servers are not found."""
        owner, conversation = self._sessions.get(headers.get(_SESSION, ""), (None, None))
        return conversation if owner is endpoint else None

    async def _post(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        body = await _body(receive)
        message = None if body is None else decode_message(body)
        if message is None:
            await _respond(send, 400, _refusal(-32700, "Parse error"))
            return
        conversation = self._find_conversation(endpoint, headers)
        if conversation is None and _SESSION in headers:
            await _respond(send, 404, _refusal(-32600, "Unknown session"))
            return
        session_headers: dict[str, str] = {}
        if message.get("method") == "initialize" and conversation is None:
            conversation, session_headers[_SESSION] = await self._begin(endpoint)
        is_alone = conversation is None
        conversation = conversation or _HttpConversation(self._channels, endpoint)
        try:
            id = message.get("id")
            if not isinstance(id, str | int) or "method" not in message:
                conversation.channel.receive(message)
                await _respond(send, 202)
            elif id in conversation.response_queues:
                await _respond(send, 400, _refusal(-32600, "There is such a request already"))
            else:
                await conversation.ask(
                    id, message, _Stream(send, session_headers), _on_disconnect(scope)
                )
        finally:
            if is_alone:
                await conversation.aclose()

    async def _begin(self, endpoint: Endpoint) -> tuple[_HttpConversation, str]:
        """Begin a session; who has forgotten to end theirs may lose the oldest."""
        owned = [id for id, (owner, _) in self._sessions.items() if owner is endpoint]
        if len(owned) >= _MAX_SESSIONS:
            await self._sessions[owned[0]][1].aclose()
        id, conversation = secrets.token_urlsafe(24), _HttpConversation(self._channels, endpoint)
        self._sessions[id] = endpoint, conversation
        conversation.when_closed = lambda: self._sessions.pop(id, None)
        return conversation, id

    async def _other(
        self, endpoint: Endpoint, headers: Mapping[str, str], scope: Scope, send: Send
    ) -> None:
        conversation = self._find_conversation(endpoint, headers)
        if scope["method"] not in ("GET", "DELETE") or _SESSION not in headers:
            await _respond(send, 405, headers={"allow": "POST"})
        elif conversation is None:
            await _respond(send, 404)
        elif scope["method"] == "DELETE":
            await conversation.aclose()
            await _respond(send, 204)
        elif conversation.is_listening:
            await _respond(send, 409)
        else:
            await conversation.listen(_Stream(send, {}), _on_disconnect(scope))


class _HttpConversation:
    """The messages to an MCP client: those of a session, or those about a single request."""

    def __init__(self, channels: McpChannels, endpoint: Endpoint) -> None:
        self.channel = channels.open(endpoint.server_id, self._deliver)
        self.response_queues: dict[Id, asyncio.Queue[JsonObject | None]] = {}
        """The messages about each pending request."""
        self.is_listening = False
        """Whether the client listens to messages that concern no request."""
        self.when_closed: Any = None
        self._others: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._endpoint = endpoint
        endpoint.hang_up.add(self.aclose)

    def _deliver(self, message: JsonObject, about: Id | None) -> None:
        is_response = "method" not in message
        queue = None if about is None else self.response_queues.get(about)
        if queue is None and is_response:
            return  # its receiver is gone
        if queue is None:
            open_ones = [] if self.is_listening else list(self.response_queues.values())
            queue = open_ones[-1] if open_ones else self._others
        if queue.qsize() >= MAX_WAITING and not is_response:
            logger.warning("an MCP client does not read: a message to it is lost")
            return
        queue.put_nowait(message)

    async def ask(
        self, id: Id, message: JsonObject, stream: _Stream, on_disconnect: OnDisconnect
    ) -> None:
        """Pass a request on, and send the messages about it up to its response."""
        queue = self.response_queues[id] = asyncio.Queue()
        on_disconnect(lambda: self.channel.cancel(id))
        self.channel.receive(message)
        try:
            while (event := await stream.next(queue)) is not None and "method" in event:
                await stream.event(event)
            await stream.end(event)
        finally:
            del self.response_queues[id]

    async def listen(self, stream: _Stream, on_disconnect: OnDisconnect) -> None:
        """Send messages that concern no request, until the client disconnects."""
        self.is_listening = True
        on_disconnect(lambda: self._others.put_nowait(None))
        try:
            await stream.begin()
            while (event := await stream.next(self._others)) is not None:
                await stream.event(event)
            await stream.end(None)
        finally:
            self.is_listening = False

    async def aclose(self) -> None:
        """End it."""
        self._endpoint.hang_up.discard(self.aclose)
        if self.when_closed is not None:
            self.when_closed()
        await self.channel.aclose()
        for queue in (*self.response_queues.values(), self._others):
            queue.put_nowait(None)


class _Stream:
    """The answer to one HTTP request: JSON, or events from when it begins to be one."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = headers
        self._has_begun = False

    async def next(self, queue: asyncio.Queue[JsonObject | None]) -> JsonObject | None:
        """Wait for the next message; meanwhile the client gets keep-alives."""
        while True:
            try:
                async with asyncio.timeout(_KEEP_ALIVE_SECONDS):
                    return await queue.get()
            except TimeoutError:
                await self.begin()
                await self._write(b": \n\n")

    async def begin(self) -> None:
        """Begin to send events."""
        if not self._has_begun:
            self._has_begun = True
            response_headers = [*_EVENTS, *_pairs(self._headers)]
            await self._send(
                {"type": "http.response.start", "status": 200, "headers": response_headers}
            )

    async def event(self, message: JsonObject) -> None:
        """Send a message that is not the last one."""
        await self.begin()
        await self._write(b"event: message\ndata: " + encode_message(message) + b"\n\n")

    async def end(self, message: JsonObject | None) -> None:
        """Send the last message."""
        if self._has_begun:
            if message is not None:
                await self.event(message)
            await self._send({"type": "http.response.body"})
        elif message is None:
            await _respond(self._send, 404, _refusal(-32600, "The session has ended"))
        else:
            await _respond(self._send, 200, message, self._headers)

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})


def _token(headers: Headers) -> str:
    """Return the bearer token of a request; empty if it has none.

    Raises:
        Refused: There are two, and it is not clear which one counts.
    """
    scheme, _, token = (headers.one(b"authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_json(headers: Headers) -> bool:
    """Return whether a body is JSON; a page can send any other one without asking."""
    kinds = headers.get_all(b"content-type")
    return len(kinds) == 1 and kinds[0].partition(";")[0].strip().lower() == "application/json"


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}


def _pairs(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _refusal(code: int, message: str) -> JsonObject:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


def _on_disconnect(scope: Scope) -> OnDisconnect:
    found: OnDisconnect = scope["extensions"][ON_DISCONNECT]
    return found


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if the client went before its end."""
    parts: list[bytes] = []
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return None
        parts.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(parts)


async def _respond(
    send: Send,
    status: int,
    message: JsonObject | None = None,
    headers: Mapping[str, str] | None = None,
) -> None:
    body = b"" if message is None else encode_message(message)
    response_headers = [(b"content-length", b"%d" % len(body)), *_pairs(headers or {})]
    if message is not None:
        response_headers.append((b"content-type", b"application/json"))
    if status == 204:
        del response_headers[0]
    await send({"type": "http.response.start", "status": status, "headers": response_headers})
    await send({"type": "http.response.body", "body": body})
