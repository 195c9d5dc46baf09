"""The ASGI servers under which the application is tested, and a client for them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anycorn
import uvicorn

from parley.asgi_server.server import Server
from parley.transport.http._app.app import HttpApp
from parley.transport.http._client.address import Address
from parley.transport.http._client.connection_pool import HttpConnectionPool
from parley.transport.http._client.response import Response

from .asgi_client import EVENTS, INITIALIZE, Event
from .tcp_server import listening_socket

SERVERS = ["ours", "ours over HTTP/1.1", "uvicorn", "anycorn"]


@asynccontextmanager
async def running_server(name: str, app: HttpApp) -> AsyncGenerator[int]:
    """Run the application on a server; yields its port."""
    try:
        if name.startswith("ours"):
            async with Server(app) as server:
                yield server.addresses[0][1]
        else:
            with listening_socket() as listening:
                run = _uvicorn if name == "uvicorn" else _anycorn
                async with run(app, listening):
                    yield listening.getsockname()[1]
    finally:
        await app.aclose()


@asynccontextmanager
async def _uvicorn(app: HttpApp, listener: socket.socket) -> AsyncGenerator[None]:
    config = uvicorn.Config(
        app,
        log_level="critical",
        lifespan="off",
        ws="websockets-sansio",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield  # the listener listens already
    finally:
        await app.aclose()
        server.should_exit = True
        await task


@asynccontextmanager
async def _anycorn(app: HttpApp, listener: socket.socket) -> AsyncGenerator[None]:
    config = anycorn.Config()
    config.bind = [f"fd://{os.dup(listener.fileno())}"]
    config.loglevel = "CRITICAL"
    config.graceful_timeout = 1
    config.keep_alive_max_requests = 100_000
    ends = asyncio.Event()
    task = asyncio.create_task(anycorn.serve(app, config, shutdown_trigger=ends.wait))  # type: ignore[arg-type]
    try:
        yield
    finally:
        await app.aclose()
        ends.set()
        await task


class HttpTestClient:
    """A client over a real connection."""

    def __init__(self, port: int, *, http_1: bool = False) -> None:
        self.client = HttpConnectionPool(Address(f"http://127.0.0.1:{port}", {}))
        if http_1:
            self.client._is_http2 = False
        self.connection = ""

    async def request(
        self, method: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Response:
        fields = {"acp-connection-id": self.connection, **(headers or {})}
        pairs = [(name.encode(), value.encode()) for name, value in fields.items() if value]
        return await self.client.request(method, b"/acp", pairs, body)

    async def post(self, message: Any, session: str = "", **headers: str) -> Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields = {"content-type": "application/json", "acp-session-id": session, **fields}
        return await self.request("POST", fields, json.dumps(message).encode())

    async def initialize(self, **headers: str) -> Response:
        response = await self.post(INITIALIZE, **headers)
        assert response.status == 200
        self.connection = response.header(b"acp-connection-id")
        assert json.loads(await response.read(10_000))["id"] == 0
        return response

    async def stream(self, session: str = "", after: int | None = None) -> EventReader:
        cursor = "" if after is None else str(after)
        fields = {**EVENTS, "acp-session-id": session, "last-event-id": cursor}
        response = await self.request("GET", fields)
        assert response.status == 200, await response.read(10_000)
        return EventReader(response)


class EventReader:
    """The events of a stream, one after the other."""

    def __init__(self, response: Response) -> None:
        self.response = response
        self._chunks = response.chunks()
        self._text = b""

    async def next(self) -> Event:
        """Return the next event; raises StopAsyncIteration at the end."""
        while True:
            block, end, rest = self._text.partition(b"\n\n")
            if not end:
                self._text += await anext(self._chunks)
                continue
            self._text = rest
            if not block.startswith(b":"):
                return Event(block.decode())

    async def aclose(self) -> None:
        await self._chunks.aclose()
        self.response.cancel()


@asynccontextmanager
async def connected_client(name: str, app: HttpApp) -> AsyncGenerator[tuple[HttpTestClient, int]]:
    async with running_server(name, app) as port:
        client = HttpTestClient(port, http_1="1.1" in name)
        try:
            yield client, port
        finally:
            await client.client.aclose()
