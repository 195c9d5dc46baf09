"""A scripted server of the transport, as other projects would write one; records its requests.

It does not know Parley's headers unless a test adds them to its responses.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import uvicorn
from tests.unit.transport.http.counting_agent import encode_request
from tests.unit.transport.http.tcp_server import listening_socket
from tests.unit.transport.recorder import Recorder

from parley.asgi_server.server import Server
from parley.transport.http._asgi_types import Receive, Scope, Send
from parley.transport.http._client.http_transport import HttpTransport

__all__ = ["ReceivedRequest", "ScriptedServer", "connected_transport", "serve_http1", "serve_http2"]

Reply = tuple[int, list[tuple[bytes, bytes]], bytes]
JSON = [(b"content-type", b"application/json")]


class ReceivedRequest(NamedTuple):
    """A request that the server received."""

    verb: str
    headers: dict[str, str]
    message: Any
    http_version: str

    @property
    def name(self) -> str:
        """The method of the message, `response`, or the HTTP method and the session."""
        if self.verb != "POST":
            return f"{self.verb} {self.headers.get('acp-session-id', '')}".strip()
        return str(self.message.get("method", "response"))


class ScriptedServer:
    """An ASGI application."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.changed = asyncio.Event()
        self.events: defaultdict[str, asyncio.Queue[bytes | None]] = defaultdict(asyncio.Queue)
        self.sent_events = 0
        """The number of messages that were sent on streams."""
        self.disconnected: list[str] = []
        """The sessions whose streams were disconnected by the client."""
        self.first: Reply = (
            200,
            [*JSON, (b"acp-connection-id", b"c-1")],
            b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}',
        )
        self.post: Callable[[ReceivedRequest], Awaitable[Reply | None]] | None = None
        """Returns the reply to a POST; None means 202."""
        self.get: Callable[[ReceivedRequest], Reply | None] | None = None
        """Returns the reply to a GET; None means a stream."""
        self.websocket: Callable[[Scope, Receive, Send], Awaitable[None]] | None = None

    def send_event(self, session: str, message: bytes | dict[str, Any]) -> None:
        """Send a message on a stream."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.events[session].put_nowait(b"data: %b\n\n" % data)

    def respond(self, session: str, id: int, **result: Any) -> None:
        """Send the response to a request on a stream."""
        self.send_event(session, {"jsonrpc": "2.0", "id": id, "result": result})

    def names(self) -> list[str]:
        """Return the names of the requests, in the order in which they arrived."""
        return [each.name for each in self.requests]

    async def until_requested(self, *names: str) -> None:
        """Wait until requests with all of these names have arrived."""
        while not set(names) <= set(self.names()):
            self.changed.clear()
            await self.changed.wait()

    def request_named(self, name: str) -> ReceivedRequest:
        return next(each for each in self.requests if each.name == name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            if self.websocket is not None:
                await self.websocket(scope, receive, send)
            return
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        message = json.loads(body) if body else None
        request = ReceivedRequest(scope["method"], headers, message, scope["http_version"])
        if request.verb != "PRI":  # the preface of HTTP/2, which uvicorn takes for a request
            self.requests.append(request)
        self.changed.set()
        if request.verb == "GET":
            await self._stream(request, receive, send)
        else:
            await _reply(send, await self._reply_to(request))

    async def _reply_to(self, request: ReceivedRequest) -> Reply:
        if request.verb == "POST" and request.name == "initialize":
            return self.first
        reply = None
        if request.verb == "POST" and self.post is not None:
            reply = await self.post(request)
        return (202, [], b"") if reply is None else reply

    async def _stream(self, request: ReceivedRequest, receive: Receive, send: Send) -> None:
        refusal = None if self.get is None else self.get(request)
        if refusal is not None:
            await _reply(send, refusal)
            return
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        session = request.headers.get("acp-session-id", "")
        sending = asyncio.create_task(self._send_events(session, send))
        disconnecting = asyncio.create_task(_wait_for_disconnect(receive))
        await asyncio.wait({sending, disconnecting}, return_when=asyncio.FIRST_COMPLETED)
        sending.cancel()
        disconnecting.cancel()
        if not sending.done() or sending.cancelled():
            self.disconnected.append(session)
            self.changed.set()

    async def _send_events(self, session: str, send: Send) -> None:
        while (chunk := await self.events[session].get()) is not None:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self.sent_events += 1
            self.changed.set()
        await send({"type": "http.response.body", "body": b""})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _reply(send: Send, reply: Reply) -> None:
    status, headers, body = reply
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serve_http2(server: ScriptedServer) -> AsyncGenerator[str]:
    """Run it on our own server, which speaks HTTP/2 too; yields its URL."""
    async with Server(server) as running:
        yield f"http://127.0.0.1:{running.addresses[0][1]}/acp"


@asynccontextmanager
async def serve_http1(server: ScriptedServer) -> AsyncGenerator[str]:
    """Run it on uvicorn, which speaks only HTTP/1.1; yields its URL."""
    config = uvicorn.Config(server, port=0, http="h11", ws="none", lifespan="off", log_config=None)
    running = uvicorn.Server(config)
    with listening_socket() as listening:
        task = asyncio.create_task(running.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/acp"
        running.should_exit = running.force_exit = True
        await task


@asynccontextmanager
async def connected_transport(
    url: str, **options: Any
) -> AsyncGenerator[tuple[HttpTransport, Recorder]]:
    """Connect a transport and initialize it; yields it with its recorder."""
    transport = await HttpTransport.open(url, **options)
    recorder = Recorder()
    transport.start(recorder)
    transport.send(encode_request(0, "initialize", protocolVersion=1))
    await recorder.until_frames(1)
    try:
        yield transport, recorder
    finally:
        await transport.aclose()
