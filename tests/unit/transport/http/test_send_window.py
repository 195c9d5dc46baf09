"""Unsent data per peer is bounded over all of its streams; streams that are read make progress."""

from __future__ import annotations

import asyncio
import json

from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.send_window import SendWindow

from .asgi_client import client_of
from .manual_clock import settle
from .scripted_agent import ScriptedAgent, update_text


def test_each_may_hold_less_while_there_is_much_on_all() -> None:
    received: list[int] = []
    room = SendWindow(100, 1000, lambda: received.append(room.allowed))
    room.add(500)
    assert room.allowed == 100
    room.add(1)
    assert room.allowed == 0
    room.remove(250)
    assert (room.allowed, received) == (0, [])
    room.remove(1)
    assert (room.allowed, received) == (100, [100])
    room.remove(250)
    assert (room.bytes, received) == (0, [100])


async def test_streams_that_nobody_reads_make_their_writers_wait_and_no_others() -> None:
    host = ScriptedAgent()
    limits = AppLimits(stream_bytes=100_000, connection_bytes=200_000)
    async with client_of(HttpApp(host, limits=limits)) as client:
        await client.initialize()
        transport = host.last.transport
        for number in range(3):  # nobody has opened these
            host.last.update(f"unread {number}", "x" * 40_000)
            assert (transport.drained() is None) == (number < 2), "half of it is taken"
        read = await client.stream("read")
        await settle()

        async def write() -> None:
            for number in range(5):
                host.last.update("read", str(number))
                if (waiting := transport.drained()) is not None:
                    await waiting

        writing = asyncio.create_task(write())
        assert [update_text((await read.event()).data) for _ in range(5)] == list("01234")
        await writing
        host.last.update("unread 0", "y")
        waiting = transport.drained()
        assert waiting is not None
        taken = [await client.stream(f"unread {number}") for number in range(3)]
        await waiting
        for stream in taken:
            assert update_text((await stream.event()).data) == "x" * 40_000
        await settle()
        assert transport.sink.unsent_bytes == 0
        host.last.update("unread 1", "x" * 50_000)
        assert transport.drained() is None


async def test_who_does_not_wait_fills_all_streams_together_until_the_connection_ends() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host, limits=AppLimits(connection_bytes=100_000))) as client:
        await client.initialize()
        for number in range(10):
            host.last.update(f"s{number}", "x" * 9_000)
        await settle()
        assert not host.last.lost.done()
        host.last.update("one more", "x" * 12_000)
        await settle()
        assert "does not read" in str(host.last.lost.result())


async def test_a_session_that_is_closed_takes_what_nobody_has_read_with_it() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host, limits=AppLimits(leave=0.001))) as client:
        await client.initialize()
        own = await client.stream()
        host.last.update("s", "x" * 1000)
        assert host.last.transport.sink.unsent_bytes > 1000
        close = {"jsonrpc": "2.0", "id": 1, "method": "session/close", "params": {"sessionId": "s"}}
        await client.post(close, "s")
        host.last.respond(1, {})
        assert (await own.event()).data["id"] == 1
        while host.last.transport.sink.unsent_bytes:  # noqa: ASYNC110  the timer tells nobody
            await asyncio.sleep(0)
        assert json.dumps(list(host.last.transport.sink.sessions)) == "[]"
