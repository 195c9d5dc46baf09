"""`WebSocketTransport` against a server that is played byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.transport.http.counting_agent import encode_notification, encode_request
from tests.unit.transport.http.raw_socket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RawServer,
    RawSocket,
    frame,
)
from tests.unit.transport.recorder import Recorder

from parley.errors import ConnectFailed, ConnectionClosed, Unauthorized
from parley.rpc._framing import LineBlock
from parley.transport.http._client import websocket_transport as websocket
from parley.transport.http._client.websocket_transport import WebSocketTransport

RESUMES = ("Acp-Connection-Id: c-1", "Parley-Resume: 1; grace=60")


@asynccontextmanager
async def connected(
    *headers: str, rest: bytes = b"", **options: Any
) -> AsyncGenerator[tuple[RawServer, RawSocket, WebSocketTransport, Recorder]]:
    async with RawServer.open() as server:
        options = {"retry_after": 0.001, **options}
        opening = asyncio.create_task(WebSocketTransport.open(server.url, **options))
        socket = await server.next()
        socket.accept(*(headers or ("Acp-Connection-Id: c-1",)), rest=rest)
        transport = await opening
        recorder = Recorder()
        transport.start(recorder)
        try:
            yield server, socket, transport, recorder
        finally:
            closing = asyncio.create_task(transport.aclose())
            server.cut()
            await closing


@pytest.mark.requirement("TR-WS-02", "TR-WS-03")
async def test_a_frame_is_a_text_message_each_way() -> None:
    async with connected() as (_, socket, transport, seen):
        first = encode_request(0, "initialize")
        transport.send(first)
        assert await socket.read() == (TEXT, first)
        socket.say(frame(TEXT, b'{"a":1}'), frame(TEXT, b'{"b":2}'))
        assert await seen.until_frames(2) == [b'{"a":1}', b'{"b":2}']
        long = encode_notification("x", pad="." * 100_000)
        transport.send(long)
        assert await socket.read() == (TEXT, long)


@pytest.mark.requirement("TR-WS-03")
async def test_messages_in_any_pieces_are_the_same_messages() -> None:
    texts = [b"{}", b"", b"." * 125, b"." * 126, b"." * 65535, b"." * 65536, b'{"n":1}']
    stream = b"".join(frame(TEXT, text) for text in texts)
    stream += frame(TEXT, b"fra", is_last=False) + frame(PING, b"p")
    stream += frame(CONTINUATION, b"gme", is_last=False) + frame(CONTINUATION, b"nted")
    stream += frame(TEXT, b"last")
    for size in (1, 7, 1000, len(stream)):
        async with connected() as (_, socket, _, seen):
            pieces = range(0, len(stream) if size > 1 else 600, size)
            for place in pieces:
                socket.say(stream[place : place + size])
                if size < 1000 and place < 2000:
                    await socket.writer.drain()
                    await asyncio.sleep(0)
            if size == 1:
                socket.say(stream[600:])
            assert await seen.until_frames(9) == [*texts, b"fragmented", b"last"]
            assert await socket.read() == (PONG, b"p")


async def test_what_comes_with_the_handshake_is_not_lost() -> None:
    whole = frame(TEXT, b"one") + frame(TEXT, b"two")
    for cut in range(len(whole) + 1):
        async with connected("X: y", rest=whole[:cut]) as (_, socket, _, seen):
            socket.say(whole[cut:])
            assert await seen.until_frames(2) == [b"one", b"two"]


async def test_the_messages_of_a_read_are_handed_on_as_one_block() -> None:
    blocks: list[object] = []
    async with connected(rest=b"") as (_, socket, transport, _):
        seen = Recorder(blocks.append)
        transport.start(seen)
        socket.say(*(frame(TEXT, b'{"n":%d}' % number) for number in range(50)))
        await seen.until_frames(50)
        assert isinstance(blocks[0], LineBlock)
        socket.say(frame(TEXT, b'{\n"n":1}'), frame(TEXT, b'{"n":2}'))
        assert (await seen.until_frames(52))[50:] == [b'{\n"n":1}', b'{"n":2}']


@pytest.mark.requirement("TR-WS-04", "TR-WS-08")
async def test_binary_messages_are_skipped_and_pings_get_pongs() -> None:
    async with connected() as (_, socket, _, seen):
        socket.say(frame(BINARY, (1).to_bytes(8, "big")), frame(BINARY, b"\xff"), frame(PING, b"?"))
        socket.say(frame(TEXT, b"{}"))
        assert await seen.until_frames(1) == [b"{}"]
        assert await socket.read() == (PONG, b"?")


@pytest.mark.requirement("TR-WS-07")
async def test_a_batch_is_one_message() -> None:
    async with connected() as (_, socket, transport, seen):
        batch = b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]'
        socket.say(frame(TEXT, batch))
        assert await seen.until_frames(1) == [batch]
        transport.send(batch)
        assert await socket.read() == (TEXT, batch)


@pytest.mark.parametrize(
    ("bytes_", "words"),
    [
        (frame(CLOSE, b"\x03\xe8"), "the server closed the connection (1000)"),
        (frame(CLOSE, b"\x03\xe9"), "going away"),
        (frame(CLOSE, b"\x03\xf0no\x1b[31m"), "because of a policy: no[31m (1008)"),
        (frame(CLOSE, b"\x03\xf3"), "the server failed (1011)"),
        (frame(CLOSE, b"\x0f\xa1why"), "why (4001)"),
        (frame(CLOSE, b""), "(1005)"),
        (b"\x81\x80abcd", "violated the WebSocket protocol"),  # masked
        (b"\xf1\x00", "(1002)"),  # reserved bits
        (frame(CONTINUATION, b"x"), "(1002)"),
        (frame(TEXT, b"\xff"), "not valid UTF-8"),
        (
            frame(TEXT, b"\xc3", is_last=False) + frame(CONTINUATION, b"("),
            "not valid UTF-8",
        ),
        (b"\x81\x7f\xff" + b"\x00" * 7, "(1002)"),  # longer than any message
        (frame(PING, b"x" * 126), "(1002)"),
        (b"\x89\x7f" + b"\x00\x00\x01" + b"\x00" * 5, "(1002)"),  # a ping of a terabyte
        (frame(TEXT, b"x", is_last=False) + frame(TEXT, b"y" * 2000), "(1002)"),
    ],
)
async def test_the_end_has_a_reason(bytes_: bytes, words: str) -> None:
    async with connected(max_message_bytes=1000) as (_, socket, transport, seen):
        socket.say(bytes_)
        assert words in await seen.until_lost()
        with pytest.raises(ConnectionClosed):
            transport.send(b"{}")


async def test_a_text_that_is_none_is_reported_and_what_came_before_it_is_not_lost() -> None:
    async with connected() as (_, socket, _, seen):
        socket.say(frame(TEXT, b"one"), frame(TEXT, b"\xff"), frame(TEXT, b"two"))
        assert "(1007)" in await seen.until_lost()
        assert seen.frames == [b"one"]
        assert await socket.read() == (CLOSE, b"\x03\xef")


async def test_a_server_that_is_gone_without_a_word_is_the_end_of_a_plain_connection() -> None:
    async with connected() as (_, socket, _, seen):
        socket.say(frame(TEXT, b"{}"))
        await seen.until_frames(1)
        socket.writer.transport.abort()
        assert "the connection was lost" in await seen.until_lost()


@pytest.mark.requirement("TR-WS-06", "TR-HTTP-25")
async def test_cookies_and_the_token_go_with_the_upgrade() -> None:
    headers = (*RESUMES, "Set-Cookie: node=7; Path=/")
    async with connected(*headers, token="t0ps3cret") as (server, socket, _, _):
        assert socket.headers["authorization"] == "Bearer t0ps3cret"
        assert socket.headers["parley-resume"] == "1"
        socket.writer.transport.abort()
        again = await server.next()
        assert again.headers["cookie"] == "node=7"
        assert again.headers["acp-connection-id"] == "c-1"
        assert again.headers["parley-resume"] == "1; received=0"


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unauthorized), (404, ConnectFailed), (302, ConnectFailed)]
)
async def test_a_server_that_refuses_is_reported_with_its_reason(
    status: int, kind: type[ConnectFailed]
) -> None:
    async with RawServer.open() as server:
        opening = asyncio.create_task(WebSocketTransport.open(server.url, token="t0ps3cret"))
        (await server.next()).refuse(status, "no")
        with pytest.raises(kind, match=str(status)) as caught:
            await opening
        assert "t0ps3cret" not in str(caught.value)


async def test_a_server_that_does_not_respond_to_the_handshake_is_given_up() -> None:
    async with RawServer.open() as server:
        with pytest.raises(ConnectFailed, match=r"cannot connect to .* within 0\.05 seconds"):
            await WebSocketTransport.open(server.url, connect_timeout=0.05)


async def test_closing_says_goodbye() -> None:
    async with connected() as (_, socket, transport, seen):
        transport.send(b"{}")
        closing = asyncio.create_task(transport.aclose())
        assert await socket.read() == (TEXT, b"{}")
        assert await socket.read() == (CLOSE, b"\x03\xe8")
        transport.send(b"{}")  # somebody has not heard of it yet
        socket.say(frame(CLOSE, b"\x03\xe8"))
        await closing
        assert seen.reason == "the connection was closed by us"


async def test_both_sides_send_again_what_the_other_lacks() -> None:
    states: list[str] = []

    def see(state: str, reason: str) -> None:
        states.append(state)

    async with connected(*RESUMES, on_state=see) as (server, socket, transport, seen):
        socket.say(frame(TEXT, b'{"n":0}'), frame(TEXT, b'{"n":1}'))
        await seen.until_frames(2)
        for number in range(4):
            transport.send(b'{"k":%d}' % number)
            await socket.read_text()
        socket.say(frame(BINARY, (1).to_bytes(8, "big")))  # the first one is confirmed
        socket.writer.transport.abort()
        again = await server.next()
        assert again.headers["parley-resume"] == "1; received=2"
        transport.send(b'{"k":4}')  # while it is away
        again.accept("Acp-Connection-Id: c-1", "Parley-Resume: 1; received=3")
        assert [await again.read_text() for _ in range(2)] == [b'{"k":3}', b'{"k":4}']
        again.say(frame(TEXT, b'{"n":2}'))
        assert (await seen.until_frames(3))[2] == b'{"n":2}'
        assert states == ["away", "connected"]
        assert not seen.lost


async def test_what_was_received_is_confirmed_now_if_it_is_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket, "_ACK_AFTER", 0.05)
    async with connected(*RESUMES) as (_, socket, _, _):
        socket.say(*(frame(TEXT, b"{}") for _ in range(64)))
        assert await socket.read() == (BINARY, (64).to_bytes(8, "big"))
        socket.say(frame(TEXT, b'"%b"' % (b"." * 300_000)))
        assert await socket.read() == (BINARY, (65).to_bytes(8, "big"))
        socket.say(frame(TEXT, b"{}"))
        assert await socket.read() == (BINARY, (66).to_bytes(8, "big"))  # soon


async def test_a_server_that_confirms_nothing_makes_senders_wait() -> None:
    async with connected(*RESUMES) as (_, socket, transport, _):
        sent = 0
        while transport.drained() is None:
            transport.send(b'"%b"' % (b"." * 100_000))
            sent += 1
            await socket.read_text()
        room = transport.drained()
        assert room is not None
        assert 40 <= sent <= 60
        socket.say(frame(BINARY, sent.to_bytes(8, "big")))
        await room
        assert transport.drained() is None


@pytest.mark.parametrize(
    ("status", "headers", "words"),
    [
        (404, (), "does not know this connection"),
        (410, (), "no longer has what was missed"),
        (101, ("Acp-Connection-Id: c-2",), "ended: "),
        (101, ("Acp-Connection-Id: c-1", "Parley-Resume: 1; received=9"), "never sent"),
    ],
)
async def test_a_server_that_cannot_resume_ends_the_connection_once(
    status: int, headers: tuple[str, ...], words: str
) -> None:
    async with connected(*RESUMES) as (server, socket, transport, seen):
        transport.send(b"{}")
        await socket.read_text()
        socket.writer.transport.abort()
        again = await server.next()
        if status == 101:
            again.accept(*headers)
        else:
            again.refuse(status)
        assert words in await seen.until_lost()
        assert transport.gone_status == (status if status in (404, 410) else None)


async def test_a_server_that_stays_away_is_given_up() -> None:
    headers = ("Acp-Connection-Id: c", "Parley-Resume: 1; grace=0")
    async with connected(*headers) as (_, socket, _, seen):
        socket.writer.transport.abort()
        assert "has been unreachable for 0 seconds" in await seen.until_lost()


async def test_what_the_server_sent_before_it_disconnected_is_not_lost() -> None:
    async with connected() as (_, socket, _, seen):
        socket.say(frame(TEXT, b"last words"), frame(CLOSE, b"\x03\xe8"), frame(TEXT, b"more"))
        await seen.until_lost()
        assert seen.frames == [b"last words"]


@pytest.mark.parametrize("code", [1000, 1008, 1009, 4000])
async def test_a_server_that_says_goodbye_is_not_asked_again(code: int) -> None:
    async with connected(*RESUMES) as (_, socket, _, seen):
        socket.say(frame(CLOSE, code.to_bytes(2, "big")))
        assert f"({code})" in await seen.until_lost()


async def test_a_slow_reader_stalls_the_server_and_gets_everything_later() -> None:
    async with connected() as (_, socket, transport, seen):
        transport.pause_reading()
        for number in range(3000):
            socket.say(frame(TEXT, b'{"n":%d,"pad":"%b"}' % (number, b"." * 4096)))
        filling = asyncio.create_task(socket.writer.drain())
        done, _ = await asyncio.wait({filling}, timeout=0.2)
        assert not done  # the server has to wait
        held = len(seen.frames)
        transport.resume_reading()
        await filling
        frames = await seen.until_frames(3000)
        assert held < 1500
        assert [int(each[5 : each.index(b",")]) for each in frames] == list(range(3000))
