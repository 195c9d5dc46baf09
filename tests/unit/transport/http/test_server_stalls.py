"""Who does not take what is meant for it makes the other side wait, and costs no memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from parley.transport.http.server.server import Server
from parley.transport.http.server.wire import Wire
from parley.transport.http.server.ws import WsFront

from .far_ends import UPGRADE, Call, H2Peer, Raw, Stage, accepted, frame, serving, upgraded

PIECE = b"x" * 16_384
MANY = 6000
"""So many pieces are 98 MB."""


def wire_of(server: Server) -> Wire:
    service = server._service
    assert service is not None
    (wire,) = service.wires
    return wire


async def until(claim: Callable[[], bool]) -> None:
    """Let the others run until it is so."""
    while not claim():  # noqa: ASYNC110  nobody tells
        await asyncio.sleep(0)


async def _h1(port: int, stage: Stage) -> tuple[Raw, Call]:
    raw = await Raw.slow(port)
    raw.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    call = await stage.next()
    await call.start()
    return raw, call


async def _h2(port: int, stage: Stage) -> tuple[Raw, Call]:
    raw = await Raw.slow(port)
    peer = H2Peer(raw, 2**31 - 1)
    peer.codec.increment_flow_control_window(2**31 - 1 - 65535)
    peer.open()
    call = await stage.next()
    await call.start()
    return raw, call


async def _h2_stream(port: int, stage: Stage) -> tuple[Raw, Call]:
    peer = await H2Peer.connect(port, window=1000)
    peer.open()
    call = await stage.next()
    await call.start()
    return peer.raw, call


async def _ws(port: int, stage: Stage) -> tuple[Raw, Call]:
    raw = await Raw.slow(port)
    raw.send(UPGRADE + b"\r\n")
    return raw, await accepted(stage)


async def _send(call: Call) -> None:
    if call.scope["type"] == "websocket":
        await call.send({"type": "websocket.send", "bytes": PIECE})
    else:
        await call.piece(PIECE)


@pytest.mark.parametrize("opened", [_h1, _h2, _h2_stream, _ws])
async def test_an_application_waits_for_a_peer_that_does_not_read(
    opened: Callable[[int, Stage], Awaitable[tuple[Raw, Call]]],
) -> None:
    stage = Stage()
    async with serving(stage) as (server, port):
        raw, call = await opened(port, stage)
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
        assert wire_of(server).unsent_bytes < 300_000
        raw.abort()
        with pytest.raises(OSError, match="closed"):
            await sending
        call.end()


async def test_a_peer_that_reads_again_gets_everything_in_order() -> None:
    stage = Stage()
    async with serving(stage) as (server, port):
        raw, call = await _h1(port, stage)

        async def send_all() -> None:
            for number in range(1000):
                await call.piece(b"%06d" % number * 1000)
            await call.piece(b"", more=False)

        sending = asyncio.create_task(send_all())
        await until(lambda: wire_of(server).is_full)
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
    stage = Stage()
    is_chunked = b"chunked" in length
    async with serving(stage) as (server, port), await Raw.connect(port) as raw:
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + length + b"\r\n\r\n")

        async def send_all() -> None:
            for _ in range(MANY):
                raw.send(b"4000\r\n" + PIECE + b"\r\n" if is_chunked else PIECE)
                await raw.writer.drain()
            raw.send(b"0\r\n\r\n" if is_chunked else b"")

        sending = asyncio.create_task(send_all())
        call = await stage.next()
        wire = wire_of(server)
        await until(lambda: wire.is_paused)
        message = await call.receive()
        assert len(message["body"]) <= 256 * 1024 + 32 * 1024
        assert not wire.is_paused
        assert len(message["body"]) + len(await call.body()) == MANY * len(PIECE)
        await sending
        call.end()


async def test_messages_that_are_not_taken_are_not_read() -> None:
    stage = Stage()
    async with serving(stage) as (server, port):
        connecting = asyncio.create_task(upgraded(port))
        call = await accepted(stage)
        async with await connecting as raw:
            many = 100_000

            async def send_all() -> None:
                for number in range(many):
                    raw.send(frame(1, b"%d" % number))
                    await raw.writer.drain()

            sending = asyncio.create_task(send_all())
            wire = wire_of(server)
            await until(lambda: wire.is_paused)
            assert isinstance(wire.front, WsFront)
            assert len(wire.front._inbox) < 5000
            for number in range(many):
                assert (await call.receive())["text"] == str(number)
            await sending
            call.end()


async def test_requests_that_are_sent_ahead_are_not_read_for_ever() -> None:
    stage = Stage()
    async with serving(stage) as (server, port), await Raw.connect(port) as raw:
        request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        raw.send(request * 4_000)
        call = await stage.next()
        wire = wire_of(server)
        await until(lambda: wire.is_paused)
        assert stage.count == 1
        for _ in range(3_999):
            await call.answer(b"", 204)
            call = await stage.next()
        call.end()
