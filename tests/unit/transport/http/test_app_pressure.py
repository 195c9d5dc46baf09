"""A client that reads slowly or not at all, and everything that has a limit."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import pytest

from parley.transport.http._app import event_stream as streams
from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import INITIALIZE, client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import AgentConnection, ScriptedAgent, request, update_text

UPDATE_BYTES = 200


async def _flood(served: AgentConnection, session: str, count: int) -> None:
    """Send updates as a well-behaved agent does."""
    for number in range(count):
        served.update(session, str(number).ljust(UPDATE_BYTES))
        while (room := served.transport.drained()) is not None:
            await room


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_a_client_that_stops_reading_stalls_who_writes_to_it_and_nobody_else() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        slow, quick = await client.stream("slow"), await client.stream("quick")
        await settle()
        slow.reads.clear()
        tracemalloc.start()
        flood = asyncio.create_task(_flood(host.last, "slow", 20_000))
        await settle()
        await _flood(host.last, "quick", 2000)
        for number in range(2000):
            assert update_text((await quick.event()).data).strip() == str(number)
        assert not flood.done()
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()
        slow.reads.set()
        for number in range(20_000):
            assert update_text((await slow.event()).data).strip() == str(number)
        await flood


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_what_nobody_reads_yet_is_bounded_too_and_responses_are_never_lost() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        await client.post(request(1, "session/prompt", "s"), "s")
        flood = asyncio.create_task(_flood(host.last, "s", 10_000))
        await settle()
        assert not flood.done()
        host.last.respond(1, {"stopReason": "end_turn"})
        stream = await client.stream("s")
        seen = [(await stream.event()).data for _ in range(10_001)]
        assert [each["id"] for each in seen if "id" in each] == [1]
        texts = [update_text(each).strip() for each in seen if "method" in each]
        assert texts == [str(number) for number in range(10_000)]
        await flood


async def test_who_has_waited_for_one_stream_does_not_wait_for_another() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stalled, stream = await client.stream("stalled"), await client.stream("s")
        await settle()
        stalled.reads.clear()
        stream.reads.clear()
        writers = [asyncio.create_task(_flood(host.last, each, 4000)) for each in ("stalled", "s")]
        await settle()
        stream.reads.set()
        for number in range(4000):
            assert update_text((await stream.event()).data).strip() == str(number)
            if not number % 100:
                host.last.update("stalled", "a response that does not wait")
        await writers[1]
        assert not writers[0].done()
        writers[0].cancel()


async def test_waiting_ends_with_the_connection() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        stream = await client.stream("s")
        await settle()
        stream.reads.clear()
        for _ in range(3000):
            host.last.update("s", "x" * UPDATE_BYTES)
        waiting = host.last.transport.drained()
        assert not waiting.done()
        assert (await client.request("DELETE")).status == 202
        assert waiting.done()
        assert host.last.transport.drained() is None


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_a_connection_ends_when_too_much_waits_that_nobody_waited_to_send() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, limits=AppLimits(connection_bytes=100_000))
    async with client_of(app) as client:
        await client.initialize()
        for _ in range(1000):
            host.last.update("s", "x" * UPDATE_BYTES)
        assert "does not read" in str(await host.last.lost)
        assert len(app.connections) == 0


async def test_a_reader_that_does_not_take_the_end_is_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_END_TIMEOUT", 0.01)
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(flush=2))) as client:
        await client.initialize()
        stream = await client.stream("s")
        await settle()
        stream.reads.clear()
        host.last.update("s", "x")
        await client.request("DELETE")
        await clock.advance(1)
        assert not stream.task.done()
        await clock.advance(1)
        await stream.task


@pytest.mark.requirement("SAFE-IN-08")
async def test_connections_are_limited_for_all_and_for_each_principal() -> None:
    access = Access({"a": "ada", "b": "bob"})
    limits = AppLimits(connections=3, connections_per_principal=2)
    host = ScriptedAgent()
    app = HttpApp(host, access=access, limits=limits)
    async with client_of(app, authorization="Bearer a") as ada:
        await ada.initialize()
        other = ada.connection
        ada.connection = ""
        await ada.initialize()
        ada.connection = ""
        response = await ada.post(INITIALIZE)
        assert (response.status, response.code) == (429, "too_many_connections_of_principal")
        async with client_of(app, authorization="Bearer b") as bob:
            await bob.initialize()
            bob.connection = ""
            response = await bob.post(INITIALIZE)
            assert (response.status, response.code) == (503, "too_many_connections")
            assert response.headers["retry-after"]
            assert len(host.served) == 3  # nobody was started for those who were refused
            assert (await ada.request("DELETE", {"acp-connection-id": other})).status == 202
            await bob.initialize()


@pytest.mark.requirement("SAFE-IN-08")
async def test_sessions_of_a_principal_are_limited_over_all_of_its_connections() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    limits = AppLimits(sessions_per_principal=3, leave=5)
    async with client_of(HttpApp(host, limits=limits, clock=clock)) as client:
        await client.initialize()
        await client.post(request(1, "session/new"))
        host.last.respond(1, {"sessionId": "a"})
        client.connection = ""
        await client.initialize()
        await client.post(request(1, "session/new"))  # is being opened, and counts
        await client.stream("b")
        refused = [
            await client.post(request(2, "session/new")),
            await client.post(request(2, "session/load", "c"), "c"),
            await client.refused("c"),
        ]
        assert [(each.status, each.code) for each in refused] == [(429, "too_many_sessions")] * 3
        assert (await client.post(request(2, "session/load", "b"), "b")).status == 202
        host.last.send({"id": 1, "error": {"code": -32000, "message": "no"}})
        assert (await client.post(request(3, "session/new"))).status == 202


@pytest.mark.requirement("SAFE-IN-08")
async def test_requests_in_flight_are_limited_and_notifications_are_not() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host, limits=AppLimits(in_flight=2))) as client:
        await client.initialize()
        for number in range(2):
            assert (await client.post(request(number, "session/list"))).status == 202
        response = await client.post(request(2, "session/list"))
        assert (response.status, response.code) == (429, "too_many_requests")
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0}}
        assert (await client.post(cancel)).status == 202
        host.last.respond(0, {})
        assert (await client.post(request(2, "session/list"))).status == 202


@pytest.mark.requirement("SAFE-IN-08")
async def test_messages_under_way_are_limited_by_number_and_by_bytes() -> None:
    host = ScriptedAgent()
    limits = AppLimits(messages=2, bodies_bytes=10_000)
    async with client_of(HttpApp(host, limits=limits)) as client:
        await client.initialize()
        host.last.transport.pause_reading()
        posts = [client.begin_post(request(number, "session/list")) for number in range(2)]
        await settle()
        response = await client.post(request(2, "session/list"))
        assert (response.status, response.code) == (429, "too_many_messages")
        host.last.transport.resume_reading()
        assert [(await post.response()).status for post in posts] == [202] * 2
        for _ in range(3):  # what was delivered counts no more
            long = json.dumps(request(3, "session/list")).encode().ljust(9000)
            assert (await client.post(long)).status == 202
        response = await client.post(b" " * 10_001)
        assert (response.status, response.code) == (503, "too_many_bytes")


@pytest.mark.requirement("SAFE-IN-08")
async def test_streams_for_sessions_that_nobody_names_are_limited() -> None:
    async with client_of(HttpApp(ScriptedAgent(), limits=AppLimits(unclaimed=2))) as client:
        await client.initialize()
        await client.stream("a")
        await client.stream("b")
        response = await client.refused("c")
        assert (response.status, response.code) == (429, "too_many_streams")
        await client.post(request(1, "session/load", "a"), "a")
        await client.stream("c")


async def test_a_server_that_goes_away_ends_everything() -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        await client.initialize()
        stream = await client.stream()
        await app.aclose()
        await stream.ended()
        assert "going away" in str(host.last.lost.result())
        assert len(app.connections) == 0


async def test_an_agent_that_does_not_end_is_cancelled_when_the_server_goes_away() -> None:
    cancelled = asyncio.Event()

    class Stubborn(ScriptedAgent):
        async def serve(self, transport: object, /) -> None:
            try:
                await super().serve(transport)  # type: ignore[arg-type]
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    app = HttpApp(Stubborn())
    async with client_of(app) as client:
        await client.initialize()
        await app.aclose(grace_after=0.01)
        assert cancelled.is_set()


async def test_the_lifespan_of_a_server_is_that_of_the_connections() -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    sent: asyncio.Queue[object] = asyncio.Queue()

    async def send(message: object) -> None:
        sent.put_nowait(message)

    task = asyncio.create_task(app({"type": "lifespan"}, inbox.get, send))
    async with client_of(app) as client:
        inbox.put_nowait({"type": "lifespan.startup"})
        assert await sent.get() == {"type": "lifespan.startup.complete"}
        await client.initialize()
        inbox.put_nowait({"type": "lifespan.shutdown"})
        assert await sent.get() == {"type": "lifespan.shutdown.complete"}
        await task
        assert host.last.lost.done()
