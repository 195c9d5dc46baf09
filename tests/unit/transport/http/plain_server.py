"""A server of the transport as others write it, which does what a test says and keeps notes.

It knows nothing of Parley's headers unless a test adds them to its answers.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import uvicorn
from tests.unit.transport.http.listening import listener
from tests.unit.transport.http.numbers import call
from tests.unit.transport.recorder import Recorder

from parley.transport.http.asgi_types import Receive, Scope, Send
from parley.transport.http.client.streamable import HttpTransport
from parley.transport.http.server.server import Server

__all__ = ["Asked", "PlainServer", "connected", "old_fashioned", "served"]

Reply = tuple[int, list[tuple[bytes, bytes]], bytes]
JSON = [(b"content-type", b"application/json")]


class Asked(NamedTuple):
    """A request as it came."""

    verb: str
    headers: dict[str, str]
    message: Any
    http_version: str

    @property
    def name(self) -> str:
        """What it is about: a method, `answer`, or which stream."""
        if self.verb != "POST":
            return f"{self.verb} {self.headers.get('acp-session-id', '')}".strip()
        return str(self.message.get("method", "answer"))


class PlainServer:
    """An ASGI application."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.changed = asyncio.Event()
        self.events: defaultdict[str, asyncio.Queue[bytes | None]] = defaultdict(asyncio.Queue)
        self.poured = 0
        """How many messages were sent on streams."""
        self.gone: list[str] = []
        """The streams that their reader has left."""
        self.first: Reply = (
            200,
            [*JSON, (b"acp-connection-id", b"c-1")],
            b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}',
        )
        self.post: Callable[[Asked], Awaitable[Reply | None]] | None = None
        """Answers a POST; None means 202."""
        self.get: Callable[[Asked], Reply | None] | None = None
        """Refuses a GET; None means a stream."""
        self.websocket: Callable[[Scope, Receive, Send], Awaitable[None]] | None = None

    def say(self, session: str, message: bytes | dict[str, Any]) -> None:
        """Send a message on a stream."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.events[session].put_nowait(b"data: %b\n\n" % data)

    def answer(self, session: str, id: int, **result: Any) -> None:
        """Answer a request on a stream."""
        self.say(session, {"jsonrpc": "2.0", "id": id, "result": result})

    def names(self) -> list[str]:
        """What was asked for, in the order in which it came."""
        return [each.name for each in self.asked]

    async def until(self, *names: str) -> None:
        """Wait until all of these were asked for."""
        while not set(names) <= set(self.names()):
            self.changed.clear()
            await self.changed.wait()

    def named(self, name: str) -> Asked:
        return next(each for each in self.asked if each.name == name)

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
        asked = Asked(scope["method"], headers, message, scope["http_version"])
        if asked.verb != "PRI":  # how HTTP/2 begins, which uvicorn takes for a request
            self.asked.append(asked)
        self.changed.set()
        if asked.verb == "GET":
            await self._stream(asked, receive, send)
        else:
            await _reply(send, await self._reply_to(asked))

    async def _reply_to(self, asked: Asked) -> Reply:
        if asked.verb == "POST" and asked.name == "initialize":
            return self.first
        reply = None
        if asked.verb == "POST" and self.post is not None:
            reply = await self.post(asked)
        return (202, [], b"") if reply is None else reply

    async def _stream(self, asked: Asked, receive: Receive, send: Send) -> None:
        refusal = None if self.get is None else self.get(asked)
        if refusal is not None:
            await _reply(send, refusal)
            return
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        session = asked.headers.get("acp-session-id", "")
        pouring = asyncio.create_task(self._pour(session, send))
        leaving = asyncio.create_task(_left(receive))
        await asyncio.wait({pouring, leaving}, return_when=asyncio.FIRST_COMPLETED)
        pouring.cancel()
        leaving.cancel()
        if not pouring.done() or pouring.cancelled():
            self.gone.append(session)
            self.changed.set()

    async def _pour(self, session: str, send: Send) -> None:
        while (chunk := await self.events[session].get()) is not None:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            self.poured += 1
            self.changed.set()
        await send({"type": "http.response.body", "body": b""})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _reply(send: Send, reply: Reply) -> None:
    status, headers, body = reply
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(server: PlainServer) -> AsyncGenerator[str]:
    """Have it served by ours, which speaks everything; gives out its address."""
    async with Server(server) as running:
        yield f"http://127.0.0.1:{running.addresses[0][1]}/acp"


@asynccontextmanager
async def old_fashioned(server: PlainServer) -> AsyncGenerator[str]:
    """Have it served by one that speaks HTTP/1.1 alone."""
    config = uvicorn.Config(server, port=0, http="h11", ws="none", lifespan="off", log_config=None)
    running = uvicorn.Server(config)
    with listener() as listening:
        task = asyncio.create_task(running.serve([listening]))
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/acp"
        running.should_exit = running.force_exit = True
        await task


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncGenerator[tuple[HttpTransport, Recorder]]:
    """A transport that is initialized."""
    transport = await HttpTransport.open(url, **options)
    recorder = Recorder()
    transport.start(recorder)
    transport.send(call(0, "initialize", protocolVersion=1))
    await recorder.until_frames(1)
    try:
        yield transport, recorder
    finally:
        await transport.aclose()
