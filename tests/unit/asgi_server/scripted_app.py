"""An ASGI application whose requests a test responds to, and a server that runs it.

`echo` is an application that needs no test. The clients for them are in `raw_clients.py`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from parley.asgi_server._asgi_types import (
    App,
    Message,
    Receive,
    Scope,
    Send,
)
from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server

from .raw_clients import Fields


@asynccontextmanager
async def running_server(
    app: App, *, tls: ssl.SSLContext | None = None, **limits: Any
) -> AsyncGenerator[tuple[Server, int]]:
    async with Server(app, tls=tls, limits=ServerLimits(**limits)) as server:
        ((_, port),) = server.addresses
        yield server, port


class AppCall:
    """One call of the application, which a test responds to."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def headers(self) -> Fields:
        headers: Fields = self.scope["headers"]
        return headers

    async def body(self) -> bytes:
        chunks: list[bytes] = []
        while True:
            message = await self.receive()
            assert message["type"] == "http.request", message
            chunks.append(message["body"])
            if not message["more_body"]:
                return b"".join(chunks)

    async def start(self, status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        start = {"type": "http.response.start", "status": status, "headers": list(headers)}
        await self.send(start)

    async def send_chunk(self, body: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def respond(
        self, body: bytes = b"", status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        await self.start(status, headers)
        await self.send_chunk(body, more=False)
        self.end()

    def end(self, error: Exception | None = None) -> None:
        if error is None:
            self.finished.set_result(None)
        else:
            self.finished.set_exception(error)


class ScriptedApp:
    """An application that leaves every request to the test."""

    def __init__(self) -> None:
        self.calls: asyncio.Queue[AppCall] = asyncio.Queue()
        self.count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = AppCall(scope, receive, send)
        self.count += 1
        self.calls.put_nowait(call)
        await call.finished

    async def next(self) -> AppCall:
        return await self.calls.get()


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond to a request with its body, and send the messages of a WebSocket back."""
    if scope["type"] == "websocket":
        await _echo_messages(receive, send)
        return
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def _echo_messages(receive: Receive, send: Send) -> None:
    message: Message = await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        kind = "text" if "text" in message else "bytes"
        await send({"type": "websocket.send", kind: message[kind]})


async def accept_websocket(app: ScriptedApp) -> AppCall:
    call = await app.next()
    assert await call.receive() == {"type": "websocket.connect"}
    await call.send({"type": "websocket.accept"})
    return call
