"""Remote sessions on a bad network: the client's program notices nothing but the time it takes.

From `connect` to the agent's handler everything is real; between the two is a proxy of ours.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tracemalloc
from contextlib import AsyncExitStack

import pytest

from parley import connect
from parley.asgi_server.limits import ServerLimits
from parley.client import Session
from parley.schema import v2
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import serve

from .remote_line import counted, lined, make_agent

both = pytest.mark.parametrize("scheme", ["http", "ws"])
versions = pytest.mark.parametrize("version", [1, 2])


def texts(update: v2.SessionUpdate) -> bool:
    return isinstance(update, v2.AgentMessageChunk)


@pytest.mark.requirement("SAFE-LIVE-05")
@both
@versions
async def test_a_turn_that_is_cut_at_every_update_arrives_whole(scheme: str, version: int) -> None:
    async with lined(scheme, version) as line:
        session = await line.connection.new_session()
        turn = session.prompt("walk 60")
        line.step.set()
        async for update in turn:
            if texts(update):
                line.proxy.cut()
                line.step.set()
        ended = await turn
        assert counted(ended.text) == list(range(60))
        assert ended.stop_reason == "end_turn"
        assert line.proxy.connections >= 60
        assert len(line.serving.app.connections) == 1


@pytest.mark.requirement("SAFE-LIVE-05")
@both
@versions
async def test_calls_that_are_cut_at_every_place_happen_once(scheme: str, version: int) -> None:
    async with lined(scheme, version) as line:
        session = await line.connection.new_session()
        for turn in range(40):
            line.proxy.cut_after(29 * turn)
            assert (await session.prompt("ask")).text == "yes"
            line.proxy.cut_after(17 * turn)
            assert counted((await session.prompt("count 4")).text) == [0, 1, 2, 3]
        assert line.questions == 40
        assert line.proxy.connections > 20


@pytest.mark.requirement("SAFE-LIVE-05")
@both
async def test_sessions_are_opened_cancelled_and_closed_across_cuts(scheme: str) -> None:
    async with lined(scheme) as line:
        for number in range(12):
            line.proxy.cut_after(41 * number)
            session = await line.connection.new_session()
            running = session.prompt("wait")
            async for update in running:
                if texts(update):
                    line.proxy.cut_after(13 * number)
                    await session.cancel()
            assert (await running).stop_reason == "cancelled"
            line.proxy.cut_after(7 * number)
            await session.close()
            again = await line.connection.resume_session(session.id)
            assert [entry.text for entry in again.transcript.messages] == ["wait", "begun"]
            await again.close()


@pytest.mark.requirement("SAFE-LIVE-05")
@both
async def test_a_connection_that_is_dead_on_one_side_is_noticed_in_a_turn(scheme: str) -> None:
    async with lined(scheme, keep_alive_after=0.1) as line:
        session = await line.connection.new_session()
        turn = session.prompt("count 3000")
        async for update in turn:
            if texts(update):
                line.proxy.freeze()
                break
        assert counted((await turn).text) == list(range(3000))
        assert line.proxy.connections == 2


@pytest.mark.requirement("SAFE-LIVE-04")
@both
async def test_a_flood_to_a_program_that_does_not_look_costs_little(scheme: str) -> None:
    async with lined(scheme) as line:
        session, other = [await line.connection.new_session() for _ in range(2)]
        await session.prompt("count 100")
        gc.collect()
        tracemalloc.start()
        turn = session.prompt("count 20000")
        async for update in turn:
            if texts(update):
                break
        before, _ = tracemalloc.get_traced_memory()
        assert counted((await other.prompt("count 500")).text) == list(range(500))
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert after - before < 10_000_000
        assert counted((await turn).text) == list(range(20_000))


@both
async def test_many_sessions_stream_at_once_and_none_is_starved(scheme: str) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            serve(make_agent(), "127.0.0.1:0", access=Access())
        )
        url = f"{scheme}{server.url.removeprefix('http')}"
        connections = [await stack.enter_async_context(connect(url)) for _ in range(5)]
        sessions = [await each.new_session() for each in connections for _ in range(100)]
        updates = 0

        async def stream(session: Session) -> int:
            """Return how many updates all sessions have had when this one ends."""
            nonlocal updates
            turn = session.prompt("count 30")
            async for update in turn:
                updates += texts(update)
            assert counted((await turn).text) == list(range(30))
            return updates

        ends = await asyncio.gather(*map(stream, sessions))
        assert max(ends) < 2 * statistics.median(ends)


async def test_more_sessions_than_a_connection_has_streams_are_served() -> None:
    async with AsyncExitStack() as stack:
        few = ServerLimits(streams=20)
        server = await stack.enter_async_context(
            serve(make_agent(), "127.0.0.1:0", access=Access(), server_limits=few)
        )
        connection = await stack.enter_async_context(connect(server.url))
        sessions = [await connection.new_session() for _ in range(70)]
        ends = await asyncio.gather(*(each.prompt("count 2") for each in sessions))
        assert [end.text for end in ends] == ["0 1 "] * 70
