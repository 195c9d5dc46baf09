"""WebSocket messages that are too long: with an extension they do not end the connection."""

from __future__ import annotations

import asyncio
import random

import pytest

from parley.asgi_server._oversized_messages import MessageEdges, OversizedFrameFilter
from parley.asgi_server.extensions import SKIP_OVERSIZED

from .raw_clients import CONT, PING, TEXT, upgraded_client
from .raw_clients import client_frame as from_client
from .scripted_app import AppCall, ScriptedApp, running_server

EDGE_BYTES = 1024
LONG = b"<" + bytes(range(33, 123)) * 100 + b">"


def masked(first: int, data: bytes, key: bytes) -> bytes:
    body = bytes(byte ^ key[place & 3] for place, byte in enumerate(data))
    return bytes((first, 0xFE)) + len(data).to_bytes(2, "big") + key + body


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11, 1024, 100_000])
def test_frames_that_are_too_long_are_taken_out_whatever_the_pieces(size: int) -> None:
    key = b"\x01\xf2\x33\x84"
    usual = [from_client(TEXT, b"a" * length) for length in (0, 1, 125, 126, 1000)]
    stream = [usual[0], masked(0x81, LONG, key), *usual[1:], masked(0x02, LONG, key), usual[2]]
    data, frames = b"".join(stream), OversizedFrameFilter(1000, EDGE_BYTES)
    pieces: list[tuple[bytes, MessageEdges | None]] = []
    for place in range(0, len(data), size):
        pieces += frames.feed(data[place : place + size])
    empty = [b"\x81\x80" + key, b"\x02\x80" + key]
    assert b"".join(piece for piece, _ in pieces) == b"".join(
        [usual[0], empty[0], *usual[1:], empty[1], usual[2]]
    )
    found = [edges for _, edges in pieces if edges is not None]
    assert [(each.head, each.tail) for each in found] == [
        (LONG[:EDGE_BYTES], LONG[-EDGE_BYTES:])
    ] * 2
    assert [piece for piece, edges in pieces if edges is not None] == empty


def test_frames_of_all_lengths_are_told_apart() -> None:
    chance = random.Random(6)
    for _ in range(200):
        texts = [b"x" * chance.choice((0, 1, 99, 100, 101, 200, 3000)) for _ in range(6)]
        data = b"".join(from_client(TEXT, text) for text in texts)
        frames = OversizedFrameFilter(100, EDGE_BYTES)
        pieces: list[tuple[bytes, MessageEdges | None]] = []
        while data:
            size = chance.randint(1, 400)
            pieces += frames.feed(data[:size])
            data = data[size:]
        kept = b"".join(piece for piece, _ in pieces)
        assert kept == b"".join(
            from_client(TEXT, b"" if len(text) > 100 else text) for text in texts
        )
        assert sum(edges is not None for _, edges in pieces) == sum(len(it) > 100 for it in texts)


@pytest.mark.parametrize("size", [126, 2**40])
def test_a_wrong_frame_is_noticed_with_the_last_byte_of_its_head(size: int) -> None:
    head = from_client(PING, size=size)
    before = from_client(TEXT, b"a")
    pieces = OversizedFrameFilter(100, EDGE_BYTES).feed(before + head)
    assert [piece for piece, _ in pieces] == [before, b"\xf9\x80" + bytes(4)]


# The server


async def accepted(scripted_app: ScriptedApp) -> AppCall:
    call = await scripted_app.next()
    assert await call.receive() == {"type": "websocket.connect"}
    call.scope["extensions"][SKIP_OVERSIZED](EDGE_BYTES)
    await call.send({"type": "websocket.accept"})
    return call


ON_THE_WAY = {
    "in one piece": (from_client(TEXT, LONG), LONG),
    "in fragments": (
        from_client(TEXT, LONG[:150], fin=False)
        + from_client(PING, b"!")
        + from_client(CONT, LONG[150:170], fin=False)
        + from_client(CONT, LONG[170:]),
        LONG,
    ),
    "in short fragments": (
        from_client(TEXT, b"a" * 150, fin=False)
        + from_client(CONT, b"b" * 150, fin=False)
        + from_client(CONT, b"", fin=False)
        + from_client(CONT, b"c" * 150),
        b"a" * 150 + b"b" * 150 + b"c" * 150,
    ),
    "a long beginning": (
        from_client(TEXT, LONG, fin=False) + from_client(CONT, b"c" * 150),
        LONG + b"c" * 150,
    ),
}


@pytest.mark.parametrize(("data", "whole"), ON_THE_WAY.values(), ids=ON_THE_WAY.keys())
async def test_the_application_gets_the_ends_of_what_is_too_long(data: bytes, whole: bytes) -> None:
    scripted_app = ScriptedApp()
    async with running_server(scripted_app, message_bytes=200) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accepted(scripted_app)
        async with await connecting as raw:
            raw.send(from_client(TEXT, b"before") + data + from_client(TEXT, b"behind"))
            assert (await call.receive())["text"] == "before"
            head, tail = whole[:EDGE_BYTES], whole[-EDGE_BYTES:]
            assert await call.receive() == {
                "type": "websocket.receive",
                "oversized": {"head": head, "tail": tail, "limit_bytes": 200},
            }
            assert (await call.receive())["text"] == "behind"
            call.end()


WRONG = {
    "a long ping": from_client(PING, b"x" * 126),
    "a ping of a terabyte": from_client(PING, b"x", size=2**40),
    "longer than any message": from_client(TEXT, b"x", size=2**63),
    "a long message in a message": from_client(TEXT, b"x", fin=False) + from_client(TEXT, LONG),
    "a long continuation of nothing": from_client(CONT, LONG),
    "no mask": b"\x81\x7e" + len(LONG).to_bytes(2, "big") + LONG,
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG.keys())
async def test_what_is_wrong_still_ends_the_connection(data: bytes) -> None:
    scripted_app = ScriptedApp()
    async with running_server(scripted_app, message_bytes=200) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accepted(scripted_app)
        async with await connecting as raw:
            raw.send(data + from_client(TEXT, b"behind"))
            response = await raw.read_all()
            assert (response[0], int.from_bytes(response[2:4], "big")) == (0x88, 1002)
        end = await call.receive()
        assert (end["type"], end["code"]) == ("websocket.disconnect", 1002)
        call.end()
