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

from .remote_connection import make_agent, numbers_in, open_remote

both = pytest.mark.parametrize("scheme", ["http", "ws"])
versions = pytest.mark.parametrize("version", [1, 2])


def texts(update: v2.SessionUpdate) -> bool:
    return isinstance(update, v2.AgentMessageChunk)


@pytest.mark.requirement("SAFE-LIVE-05")
@both
@versions
async def test_a_turn_that_is_cut_at_every_update_arrives_whole(scheme: str, version: int) -> None:
    async with open_remote(scheme, version) as remote:
        session = await remote.connection.new_session()
        turn = session.prompt("walk 60")
        remote.step.set()
        async for update in turn:
            if texts(update):
                remote.proxy.cut()
                remote.step.set()
        ended = await turn
        assert numbers_in(ended.text) == list(range(60))
        assert ended.stop_reason == "end_turn"
        assert remote.proxy.connections >= 60
        assert len(remote.serving.app.connections) == 1


@pytest.mark.requirement("SAFE-LIVE-05")
@both
@versions
async def test_calls_that_are_cut_at_every_place_happen_once(scheme: str, version: int) -> None:
    async with open_remote(scheme, version) as remote:
        session = await remote.connection.new_session()
        for turn in range(40):
            remote.proxy.cut_after(29 * turn)
            assert (await session.prompt("ask")).text == "yes"
            remote.proxy.cut_after(17 * turn)
            assert numbers_in((await session.prompt("count 4")).text) == [0, 1, 2, 3]
        assert remote.questions == 40
        assert remote.proxy.connections > 20


@pytest.mark.requirement("SAFE-LIVE-05")
@both
async def test_sessions_are_opened_cancelled_and_closed_across_cuts(scheme: str) -> None:
    async with open_remote(scheme) as remote:
        for number in range(12):
            remote.proxy.cut_after(41 * number)
            session = await remote.connection.new_session()
            running = session.prompt("wait")
            async for update in running:
                if texts(update):
                    remote.proxy.cut_after(13 * number)
                    await session.cancel()
            assert (await running).stop_reason == "cancelled"
            remote.proxy.cut_after(7 * number)
            await session.close()
            again = await remote.connection.resume_session(session.id)
            assert [entry.text for entry in again.transcript.messages] == ["wait", "begun"]
            await again.close()


@pytest.mark.requirement("SAFE-LIVE-05")
@both
async def test_a_connection_that_is_dead_on_one_side_is_noticed_in_a_turn(scheme: str) -> None:
    async with open_remote(scheme, keep_alive_after=0.1) as remote:
        session = await remote.connection.new_session()
        turn = session.prompt("count 3000")
        async for update in turn:
            if texts(update):
                remote.proxy.freeze()
                break
        assert numbers_in((await turn).text) == list(range(3000))
        assert remote.proxy.connections == 2


@pytest.mark.requirement("SAFE-LIVE-04")
@both
async def test_a_flood_to_a_program_that_does_not_look_costs_little(scheme: str) -> None:
    async with open_remote(scheme) as remote:
        session, other = [await remote.connection.new_session() for _ in range(2)]
        await session.prompt("count 100")
        gc.collect()
        tracemalloc.start()
        turn = session.prompt("count 20000")
        async for update in turn:
            if texts(update):
                break
        before, _ = tracemalloc.get_traced_memory()
        assert numbers_in((await other.prompt("count 500")).text) == list(range(500))
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert after - before < 10_000_000
        assert numbers_in((await turn).text) == list(range(20_000))


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
            assert numbers_in((await turn).text) == list(range(30))
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
