"""A peer that does not read makes the other side wait, and costs no memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from parley.asgi_server._socket_connection import SocketConnection
from parley.asgi_server._ws import WebSocketProtocol
from parley.asgi_server.server import Server

from .raw_clients import UPGRADE, RawClient, RawH2Client, client_frame, upgraded_client
from .scripted_app import AppCall, ScriptedApp, accept_websocket, running_server

PIECE = b"x" * 16_384
MANY = 6000
"""So many pieces are 98 MB."""


def connection_of(server: Server) -> SocketConnection:
    state = server._state
    assert state is not None
    (connection,) = state.connections
    return connection


async def until(claim: Callable[[], bool]) -> None:
    """Run other tasks until the condition holds."""
    while not claim():  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0)


async def _h1(port: int, app: ScriptedApp) -> tuple[RawClient, AppCall]:
    raw = await RawClient.slow(port)
    raw.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    call = await app.next()
    await call.start()
    return raw, call


async def _h2(port: int, app: ScriptedApp) -> tuple[RawClient, AppCall]:
    raw = await RawClient.slow(port)
    peer = RawH2Client(raw, 2**31 - 1)
    peer.codec.increment_flow_control_window(2**31 - 1 - 65535)
    peer.open()
    call = await app.next()
    await call.start()
    return raw, call


async def _h2_stream(port: int, app: ScriptedApp) -> tuple[RawClient, AppCall]:
    peer = await RawH2Client.connect(port, window=1000)
    peer.open()
    call = await app.next()
    await call.start()
    return peer.raw, call


async def _ws(port: int, app: ScriptedApp) -> tuple[RawClient, AppCall]:
    raw = await RawClient.slow(port)
    raw.send(UPGRADE + b"\r\n")
    return raw, await accept_websocket(app)


async def _send(call: AppCall) -> None:
    if call.scope["type"] == "websocket":
        await call.send({"type": "websocket.send", "bytes": PIECE})
    else:
        await call.send_chunk(PIECE)


@pytest.mark.parametrize("opened", [_h1, _h2, _h2_stream, _ws])
async def test_an_application_waits_for_a_peer_that_does_not_read(
    opened: Callable[[int, ScriptedApp], Awaitable[tuple[RawClient, AppCall]]],
) -> None:
    app = ScriptedApp()
    async with running_server(app) as (server, port):
        raw, call = await opened(port, app)
        sent = 0

        async def send_all() -> None:
            nonlocal sent
            for _ in range(MANY):
                await _send(call)
                sent += 1

        sending = asyncio.create_task(send_all())
        while True:  # until it stays where it is
            before = sent
            for _ in range(50):
                await asyncio.sleep(0)
            if sent == before:
                break
        assert not sending.done()
        assert sent * len(PIECE) < 12_000_000  # nearly all of it is in the kernel's buffers
        assert connection_of(server).unsent_bytes < 300_000
        raw.abort()
        with pytest.raises(OSError, match="closed"):
            await sending
        call.end()


async def test_a_peer_that_reads_again_gets_everything_in_order() -> None:
    app = ScriptedApp()
    async with running_server(app) as (server, port):
        raw, call = await _h1(port, app)

        async def send_all() -> None:
            for number in range(1000):
                await call.send_chunk(b"%06d" % number * 1000)
            await call.send_chunk(b"", more=False)

        sending = asyncio.create_task(send_all())
        await until(lambda: connection_of(server).is_full)
        body = b""
        await raw.reader.readuntil(b"\r\n\r\n")
        while size := int(await raw.reader.readline(), 16):
            body += await raw.reader.readexactly(size)
            await raw.reader.readexactly(2)
        assert body == b"".join(b"%06d" % number * 1000 for number in range(1000))
        await sending
        call.end()
        raw.abort()


@pytest.mark.parametrize("length", [b"Content-Length: 98304000", b"Transfer-Encoding: chunked"])
async def test_a_body_that_is_not_taken_is_not_read(length: bytes) -> None:
    app = ScriptedApp()
    is_chunked = b"chunked" in length
    async with running_server(app) as (server, port), await RawClient.connect(port) as raw:
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + length + b"\r\n\r\n")

        async def send_all() -> None:
            for _ in range(MANY):
                raw.send(b"4000\r\n" + PIECE + b"\r\n" if is_chunked else PIECE)
                await raw.writer.drain()
            raw.send(b"0\r\n\r\n" if is_chunked else b"")

        sending = asyncio.create_task(send_all())
        call = await app.next()
        connection = connection_of(server)
        await until(lambda: connection.is_reading_paused)
        message = await call.receive()
        assert len(message["body"]) <= 256 * 1024 + 32 * 1024
        assert not connection.is_reading_paused
        assert len(message["body"]) + len(await call.body()) == MANY * len(PIECE)
        await sending
        call.end()


async def test_messages_that_are_not_taken_are_not_read() -> None:
    app = ScriptedApp()
    async with running_server(app) as (server, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            many = 100_000

            async def send_all() -> None:
                for number in range(many):
                    raw.send(client_frame(1, b"%d" % number))
                    await raw.writer.drain()

            sending = asyncio.create_task(send_all())
            connection = connection_of(server)
            await until(lambda: connection.is_reading_paused)
            assert isinstance(connection.protocol, WebSocketProtocol)
            assert len(connection.protocol._inbox) < 5000
            for number in range(many):
                assert (await call.receive())["text"] == str(number)
            await sending
            call.end()


async def test_requests_that_are_sent_ahead_are_not_read_forever() -> None:
    app = ScriptedApp()
    async with running_server(app) as (server, port), await RawClient.connect(port) as raw:
        request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        raw.send(request * 4_000)
        call = await app.next()
        connection = connection_of(server)
        await until(lambda: connection.is_reading_paused)
        assert app.count == 1
        for _ in range(3_999):
            await call.respond(b"", 204)
            call = await app.next()
        call.end()
