"""The end of connections, and the delivery of messages before it."""

from __future__ import annotations

import asyncio

import pytest

from parley.errors import ConnectionClosed
from parley.transport.http._app import event_stream as streams
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import AgentConnection, ScriptedAgent, request, update_text
from .ws_client import WebSocket


@pytest.mark.requirement("TR-HTTP-34")
async def test_an_agent_that_closes_waits_for_a_slow_reader() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        await client.post(request(1, "session/load", "s"), "s")
        await settle()
        stream.reads.clear()
        host.last.update("s", "the last words")
        host.last.respond(1, {})  # is held behind them
        closing = asyncio.create_task(host.last.transport.aclose())
        await settle()
        assert not closing.done()
        stream.reads.set()
        await closing
        assert update_text((await stream.event()).data) == "the last words"
        assert (await own.event()).data["id"] == 1
        await stream.ended()
        await own.ended()
        assert "closed by us" in str(host.last.lost.result())


async def test_an_agent_that_closes_does_not_wait_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_END_TIMEOUT", 0.01)
    host = ScriptedAgent()
    async with client_of(HttpApp(host, limits=AppLimits(flush=0.01))) as client:
        await client.initialize()
        stream = await client.stream("s")
        await settle()
        stream.reads.clear()
        host.last.update("s", "x")
        await host.last.transport.aclose()
        assert host.last.lost.done()
        await stream.task


async def test_a_socket_gets_everything_before_it_is_closed() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        socket = await WebSocket.open(client)
        await settle()
        socket.reads.clear()
        for number in range(3):
            host.last.update("s", str(number))
        closing = asyncio.create_task(host.last.transport.aclose())
        await settle()
        assert not closing.done()
        socket.reads.set()
        await closing
        assert [update_text(await socket.message()) for _ in range(3)] == ["0", "1", "2"]
        assert (await socket.closed())[0] == 1000
        await socket.task


async def test_a_socket_connection_that_takes_nothing_ends() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, limits=AppLimits(connection_bytes=10_000, flush=0.01))
    async with client_of(app) as client:
        socket = await WebSocket.open(client)
        await settle()
        socket.reads.clear()
        for _ in range(1000):
            host.last.update("s", "x")
        assert "does not read" in str(await host.last.lost)
        await socket.task


async def test_after_the_end_nothing_can_be_sent_and_a_late_start_learns_why() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        transport = host.last.transport
        await client.request("DELETE")
        with pytest.raises(ConnectionClosed):
            transport.send(b"{}")
        with pytest.raises(ConnectionClosed):
            transport.deliver(b"{}")
        assert transport.drained() is None
        late = AgentConnection(transport)
        transport.start(late)
        assert "client ended" in str(await late.lost)
        await transport.aclose()


@pytest.mark.requirement("TR-HTTP-16")
async def test_a_method_of_its_own_belongs_to_the_session_that_it_names() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        own, stream = await client.stream(), await client.stream("s")
        for id, (named, header) in enumerate([("s", "s"), ("s", ""), ("", "s"), ("", "")]):
            assert (await client.post(request(id, "_mine/own", named), header)).status == 202
            host.last.respond(id, {})
        assert [(await stream.event()).data["id"] for _ in range(3)] == [0, 1, 2]
        assert (await own.event()).data["id"] == 3


@pytest.mark.parametrize("header", ["", "nobody"], ids=["no header", "header"])
async def test_a_method_of_its_own_about_an_unknown_session_gets_its_response_where_somebody_reads(
    header: str,
) -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(leave=5))) as client:
        await client.initialize()
        own = await client.stream()
        await client.post(request(1, "_mine/own", "nobody"), header)
        host.last.send({"id": 1, "error": {"code": -32602, "message": "unknown session"}})
        assert (await own.event()).data["error"]["code"] == -32602
        await clock.advance(5)
        assert not host.last.transport.sink.sessions
        await client.post(request(2, "_mine/own", "nobody"), header)
        host.last.respond(2, {})
        assert (await own.event()).data == {"jsonrpc": "2.0", "id": 2, "result": {}}


async def test_notifications_of_unknown_sessions_leave_nothing_behind() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        for number in range(10):
            cancel = {"jsonrpc": "2.0", "method": "session/cancel"}
            params = {"params": {"sessionId": str(number)}}
            assert (await client.post({**cancel, **params}, str(number))).status == 202
        assert not host.last.transport.sink.sessions


async def test_a_prompt_in_an_unknown_session_gets_a_response_and_is_forgotten() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(leave=5))) as client:
        await client.initialize()
        await client.post(request(1, "session/prompt", "nobody"), "nobody")
        host.last.send({"id": 1, "error": {"code": -32002, "message": "no"}})
        stream = await client.stream("nobody")
        assert (await stream.event()).data["error"]["code"] == -32002
        await clock.advance(5)
        await stream.ended()
        assert not host.last.transport.sink.sessions


async def test_early_messages_wait_for_an_agent_that_pauses() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize(parley_resume="1")
        second = client.begin_post(request(2, "session/list"), parley_message="2")
        await settle()
        host.last.transport.pause_reading()
        first = client.begin_post(request(1, "session/list"), parley_message="1")
        await settle()
        assert not first.task.done()
        assert not second.task.done()
        host.last.transport.resume_reading()
        assert [(await each.response()).status for each in (first, second)] == [202, 202]
        assert [(await host.last.next())["id"] for _ in range(2)] == [1, 2]


async def test_the_same_id_twice_is_the_agents_matter() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        for _ in range(2):
            assert (await client.post(request(1, "session/prompt", "s"), "s")).status == 202
        host.last.respond(1, {})
        host.last.respond(1, {"again": True})
        stream, own = await client.stream("s"), await client.stream()
        assert (await stream.event()).data["result"] == {}
        assert (await own.event()).data["result"] == {"again": True}


@pytest.mark.parametrize("method", ["session/unarchive", "session/status", "session/set_title"])
async def test_a_request_about_a_session_that_is_not_open_gets_its_response_where_somebody_reads(
    method: str,
) -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock, limits=AppLimits(leave=5))) as client:
        await client.initialize()
        own = await client.stream()
        await client.post(request(1, method, "stored"), "stored")
        host.last.respond(1, {})
        assert (await own.event()).data["result"] == {}
        await client.post(request(2, "session/load", "stored"), "stored")
        host.last.respond(2, {})
        await own.event()
        await client.post(request(3, "session/close", "stored"), "stored")
        host.last.respond(3, {})
        await own.event()
        await client.post(request(4, method, "stored"), "stored")
        host.last.respond(4, {})
        assert (await own.event()).data["id"] == 4
        await clock.advance(5)
        assert not host.last.transport.sink.sessions
