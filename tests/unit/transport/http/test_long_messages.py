"""WebSocket messages that are too long, in a client and on both sides: errors, and not the end."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.transport.http.raw_socket import BINARY, CONTINUATION, PING, PONG, TEXT
from tests.unit.transport.http.raw_socket import frame as from_server
from tests.unit.transport.http.test_client_websocket import connected

from parley.agent import Agent, Turn
from parley.asgi_server.limits import ServerLimits
from parley.client import connect
from parley.errors import InvalidRequest, RemoteProtocolError
from parley.rpc._framing import OversizedFrame
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.serving import serve

LONG = b"<" + bytes(range(33, 123)) * 100 + b">"


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (from_server(TEXT, LONG), LONG),
        (
            from_server(TEXT, b"a" * 600, is_last=False) + from_server(CONTINUATION, b"b" * 600),
            b"a" * 600 + b"b" * 600,
        ),
        (
            from_server(TEXT, b"a", is_last=False)
            + from_server(CONTINUATION, LONG, is_last=False)
            + from_server(PING, b"!")
            + from_server(CONTINUATION, b"c"),
            b"a" + LONG + b"c",
        ),
    ],
)
@pytest.mark.parametrize("size", [7, 1000, 100_000])
async def test_a_client_gets_the_ends_of_what_is_too_long(
    data: bytes, whole: bytes, size: int
) -> None:
    async with connected(max_message_bytes=1000) as (_, socket, transport, seen):
        stream = from_server(TEXT, b"before") + data + from_server(TEXT, b"behind")
        for place in range(0, len(stream), size):
            socket.say(stream[place : place + size])
            await socket.writer.drain()
            await asyncio.sleep(0)
        frames = await seen.until_frames(3)
        assert frames == [b"before", bytes(OversizedFrame(whole, whole, 1000)), b"behind"]
        if from_server(PING, b"!") in data:
            assert await socket.read() == (PONG, b"!")
        transport.send(b"{}")
        assert await socket.read() == (TEXT, b"{}")


async def test_what_is_binary_and_too_long_is_skipped() -> None:
    async with connected(max_message_bytes=1000) as (_, socket, _, seen):
        socket.say(from_server(BINARY, LONG), from_server(TEXT, b"behind"))
        assert await seen.until_frames(1) == [b"behind"]


# Both


def talkative() -> Agent:
    agent = Agent("talkative")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"{len(turn.text)} characters")

    @agent.request("_long")
    async def long(params: dict[str, int], connection: object) -> str:
        return "x" * params["size"]

    return agent


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_only_the_call_fails_whose_message_is_too_long(scheme: str) -> None:
    limits = AppLimits(body_bytes=10_000)
    async with serve(
        talkative(),
        "127.0.0.1:0",
        access=Access(),
        limits=limits,
        server_limits=ServerLimits(message_bytes=20_000),
    ) as serving:
        url = serving.url.replace("http", scheme, 1)
        async with connect(url, "/", max_message_bytes=50_000) as agent:
            session = await agent.new_session()
            for size in (15_000, 100_000):
                with pytest.raises(InvalidRequest):
                    await session.ask("x" * size)
            with pytest.raises(RemoteProtocolError, match="longer than 50000 bytes"):
                await agent.request("_long", {"size": 60_000})
            assert await session.ask("x" * 5000) == "5000 characters"
            assert await session.ask("Hello") == "5 characters"
        assert len(serving.app.connections) <= 1
