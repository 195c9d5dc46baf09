"""Both client transports through interruptions: everything arrives once, in order, or is given up.

The server is ours; between the two is a proxy that cuts, stalls and comes back.
"""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.transport.http.counting_agent import (
    CountingAgent,
    counted_numbers,
    encode_notification,
    encode_request,
)
from tests.unit.transport.http.proxy import Proxy
from tests.unit.transport.recorder import Recorder

from parley.asgi_server.server import Server
from parley.errors import ConnectionClosed
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._client.address import State
from parley.transport.http._client.http_transport import HttpTransport
from parley.transport.http._client.websocket_transport import WebSocketTransport

both = pytest.mark.parametrize("scheme", ["http", "ws"])


class Line:
    """A connection through a proxy, and what is seen of it."""

    def __init__(self, agent: CountingAgent, proxy: Proxy) -> None:
        self.agent = agent
        self.proxy = proxy
        self.seen = Recorder()
        self.states: list[str] = []
        self.is_away = asyncio.Event()

    def see(self, state: State, reason: str) -> None:
        self.states.append(state)
        self.is_away.set()

    async def open(self, scheme: str, **options: Any) -> HttpTransport | WebSocketTransport:
        kind = HttpTransport if scheme == "http" else WebSocketTransport
        url = f"{scheme}://127.0.0.1:{self.proxy.port}"
        transport = await kind.open(url, retry_after=0.005, on_state=self.see, **options)
        transport.start(self.seen)
        transport.send(encode_request(0, "initialize", protocolVersion=1))
        await self.wait_for_response(0)
        transport.send(encode_request(1, "session/new"))
        await self.wait_for_response(1)
        return transport

    async def wait_for_response(self, id: int) -> None:
        frames = self.seen.frames

        def is_there() -> bool:
            return any(b'"id":%d,' % id in each for each in self.seen.frames[len(frames) :])

        if not any(b'"id":%d,' % id in each for each in frames):
            await self.seen.until(is_there)

    async def stalls(self) -> None:
        """Wait until the proxy has passed something on, and then nothing for many turns.

        All sides run on this event loop: what can still move does so within a few turns.
        """
        passed = still = 0
        while still < 1000:
            await asyncio.sleep(0)
            still = still + 1 if 100_000 < passed == self.proxy.passed_bytes else 0
            passed = self.proxy.passed_bytes


@asynccontextmanager
async def connected(
    scheme: str, limits: AppLimits | None = None, **options: Any
) -> AsyncGenerator[tuple[Line, HttpTransport | WebSocketTransport]]:
    agent = CountingAgent()
    async with (
        Server(HttpApp(agent, limits=limits)) as server,
        Proxy(server.addresses[0][1]) as proxy,
    ):
        line = Line(agent, proxy)
        transport = await line.open(scheme, **options)
        try:
            yield line, transport
        finally:
            await transport.aclose()


@both
async def test_turns_that_are_cut_at_every_place_arrive_once_and_in_order(scheme: str) -> None:
    async with connected(scheme) as (line, transport):
        for turn in range(100):
            line.proxy.cut_after(9 * turn)
            transport.send(
                encode_request(2 + turn, "session/prompt", sessionId="session-1", count=5)
            )
            await line.wait_for_response(2 + turn)
        assert counted_numbers(line.seen.frames) == list(range(500))
        assert line.proxy.connections > 50
        assert line.states[:2] == ["away", "connected"]
        assert not line.seen.lost
        assert line.agent.served == 1


@both
async def test_what_is_sent_while_cuts_happen_is_delivered_once_and_in_order(scheme: str) -> None:
    async with connected(scheme) as (line, transport):
        for number in range(400):
            transport.send(encode_notification("_test/number", n=number))
            if number % 20 == 7:
                line.proxy.cut_after(number % 90)
            if number % 10 == 0:
                transport.send(encode_request(1000 + number, "_test/ask", n=-1))
                await line.wait_for_response(1000 + number)
        transport.send(encode_request(5000, "_test/last", n=-1))
        await line.wait_for_response(5000)
        kept = [each["params"]["n"] for each in line.agent.kept]
        assert [number for number in kept if number >= 0] == list(range(400))
        assert kept.count(-1) == 41
        assert line.proxy.connections > 10


@both
async def test_a_call_lives_through_a_short_absence(scheme: str) -> None:
    async with connected(scheme) as (line, transport):
        transport.send(
            encode_request(2, "session/prompt", sessionId="session-1", count=300, pad=2000)
        )
        await line.seen.until_frames(10)
        line.proxy.go_down()
        transport.send(encode_request(3, "_test/ask", n=1))
        await line.is_away.wait()
        line.proxy.come_back()
        await line.wait_for_response(3)
        await line.wait_for_response(2)
        assert counted_numbers(line.seen.frames) == list(range(300))
        assert line.states == ["away", "connected"]


@both
async def test_a_long_absence_is_one_clear_end(scheme: str) -> None:
    async with connected(scheme, AppLimits(grace=1)) as (line, transport):
        line.proxy.go_down()
        assert "has been unreachable for 1 seconds" in await line.seen.until_lost()
        assert line.states == ["away", "gone"]
        with pytest.raises(ConnectionClosed):
            transport.send(encode_request(3, "_test/ask"))
        await line.agent.ended.wait()


@both
async def test_a_server_that_has_forgotten_the_connection_says_so(scheme: str) -> None:
    async with connected(scheme) as (line, transport):
        line.proxy.go_down()
        await line.agent.transports[0].aclose()
        await line.agent.ended.wait()
        line.proxy.come_back()
        assert "(404)" in await line.seen.until_lost()
        assert transport.gone_status == 404


@both
async def test_what_was_missed_for_too_long_is_told_apart(scheme: str) -> None:
    async with connected(scheme, AppLimits(log_bytes=2000)) as (line, transport):
        transport.send(encode_request(2, "session/prompt", sessionId="session-1", count=1))
        await line.wait_for_response(2)
        line.agent.turned.clear()
        line.proxy.freeze_responses()
        transport.send(encode_request(3, "session/prompt", sessionId="session-1", count=100))
        await line.agent.turned.wait()
        line.proxy.cut()
        assert "(410)" in await line.seen.until_lost()
        assert transport.gone_status == 410


@both
async def test_a_connection_that_is_open_on_one_side_alone_is_noticed(scheme: str) -> None:
    async with connected(scheme, keep_alive_after=0.05) as (line, transport):
        line.proxy.freeze()
        transport.send(encode_request(2, "session/prompt", sessionId="session-1", count=20))
        await line.wait_for_response(2)
        assert counted_numbers(line.seen.frames) == list(range(20))
        assert line.proxy.connections == 2


@both
async def test_a_flood_to_a_reader_that_pauses_does_not_become_memory(scheme: str) -> None:
    async with connected(scheme) as (line, transport):
        transport.pause_reading()
        tracemalloc.start()
        try:
            transport.send(
                encode_request(2, "session/prompt", sessionId="session-1", count=1200, pad=10_000)
            )
            await line.stalls()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 8_000_000  # of twelve, here, at the server and between them
        transport.resume_reading()
        await line.wait_for_response(2)
        assert counted_numbers(line.seen.frames) == list(range(1200))


@pytest.mark.requirement("TR-HTTP-17")
async def test_the_response_to_a_load_comes_after_the_replay() -> None:
    async with connected("http") as (line, transport):
        for turn in range(20):
            if turn % 2:
                line.proxy.cut_after(40 * turn)
            transport.send(
                encode_request(2 + turn, "session/load", sessionId=f"old-{turn}", cwd="/")
            )
            await line.wait_for_response(2 + turn)
            assert len(counted_numbers(line.seen.frames)) == 3 * (turn + 1)
        assert counted_numbers(line.seen.frames) == list(range(60))


async def test_a_parley_server_gets_many_messages_at_once() -> None:
    async with connected("http") as (line, transport):
        for number in range(200):
            transport.send(encode_notification("_test/number", n=number))
        transport.send(encode_request(2, "_test/last", n=-1))
        await line.wait_for_response(2)
        assert [each["params"]["n"] for each in line.agent.kept] == [*range(200), -1]
