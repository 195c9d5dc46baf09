"""Servers that refuse, lie or send away: the client neither hangs nor storms them."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.transport.http.hosts import Host, request
from tests.unit.transport.http.numbers import call, note
from tests.unit.transport.http.plain_server import (
    JSON,
    Asked,
    PlainServer,
    Reply,
    connected,
    old_fashioned,
    served,
)
from tests.unit.transport.http.raw_socket import RawServer
from tests.unit.transport.recorder import Recorder

from parley.transport.http.app.app import HttpApp
from parley.transport.http.app.limits import AppLimits
from parley.transport.http.asgi_types import Message, Receive, Scope, Send
from parley.transport.http.client.cookies import CookieJar
from parley.transport.http.client.websocket import WebSocketTransport
from parley.transport.http.server.server import Server

RESUMES = [*JSON, (b"acp-connection-id", b"c-1"), (b"parley-resume", b"1; grace=60")]


def resuming() -> PlainServer:
    """A server that can resume, as it says."""
    server = PlainServer()
    server.first = (200, RESUMES, server.first[2])
    return server


async def test_a_request_too_many_fails_alone_and_what_follows_arrives() -> None:
    host = Host()
    app = HttpApp(host, limits=AppLimits(in_flight=2))
    async with Server(app) as server:
        url = f"http://127.0.0.1:{server.addresses[0][1]}/acp"
        async with connected(url) as (transport, seen):
            for id in (1, 2, 3):
                transport.send(call(id, "session/list"))
            refused = json.loads((await seen.until_frames(2))[1])
            assert (refused["id"], refused["error"]["code"]) == (3, -32005)
            transport.send(note("_vendor/thing"))
            arrived = [await host.last.next() for _ in range(3)]
            assert [each.get("id") for each in arrived] == [1, 2, None]
        await app.aclose()


async def test_more_posts_than_a_server_takes_at_once_are_sent_again() -> None:
    host = Host()
    app = HttpApp(host, limits=AppLimits(messages=2))
    refused = asyncio.Event()

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        async def see(message: Message) -> None:
            if message.get("status") == 429:
                refused.set()
            await send(message)

        await app(scope, receive, see)

    async with Server(watched) as server:
        url = f"http://127.0.0.1:{server.addresses[0][1]}/acp"
        async with connected(url, retry_after=0.01) as (transport, seen):
            host.last.transport.pause_reading()
            for id in range(20):
                transport.send(json.dumps(request(id, "session/list")).encode())
            await refused.wait()
            host.last.transport.resume_reading()
            assert [(await host.last.next())["id"] for _ in range(20)] == list(range(20))
            assert len(seen.frames) == 1
        await app.aclose()


@pytest.mark.parametrize("status", [409, 429, 500, 503])
async def test_a_numbered_message_is_sent_again_unless_the_server_has_had_it(status: int) -> None:
    server = resuming()

    async def post(asked: Asked) -> Reply | None:
        if asked.headers["parley-message"] == "1":
            return (status, [(b"parley-message", b"1")], b"{}")
        return (status, [], b"{}") if len(server.asked) < 6 else None

    server.post = post
    async with served(server) as url, connected(url, retry_after=0.001) as (transport, seen):
        transport.send(call(1, "session/new"))
        assert json.loads((await seen.until_frames(2))[1])["error"]["data"] == {"status": status}
        transport.send(call(2, "session/list"))
        while len(server.asked) < 6:
            server.changed.clear()
            await server.changed.wait()
        numbers = [each.headers.get("parley-message") for each in server.asked]
        assert numbers.count("1") == 1
        assert numbers.count("2") >= 3


async def test_a_server_that_is_not_ready_is_left_to_rest_however_much_waits() -> None:
    server = resuming()

    async def post(asked: Asked) -> Reply | None:
        return (503, [], b"")

    server.post = post
    clock = asyncio.get_running_loop().time
    async with old_fashioned(server) as url, connected(url, retry_after=0.005) as (transport, _):
        began = clock()
        for id in range(5):
            transport.send(call(id, "session/list"))
        while sum(each.verb == "POST" for each in server.asked) < 8:
            server.changed.clear()
            await server.changed.wait()
        assert clock() - began > 0.1, "a storm takes no time"


async def test_a_stream_that_ends_as_soon_as_it_has_begun_is_asked_for_ever_less_often() -> None:
    server = resuming()
    async with served(server) as url, connected(url, retry_after=0.05):
        end = asyncio.get_running_loop().time() + 1.0
        while asyncio.get_running_loop().time() < end:
            server.events[""].put_nowait(None)
            await asyncio.sleep(0.01)
        assert 2 < sum(each.verb == "GET" for each in server.asked) < 8


async def test_a_socket_that_ends_as_soon_as_it_has_begun_is_opened_ever_less_often() -> None:
    async with RawServer.open() as server:
        opening = asyncio.create_task(WebSocketTransport.open(server.url, retry_after=0.05))
        first = await server.next()
        first.accept("Acp-Connection-Id: c", "Parley-Resume: 1; grace=60")
        transport = await opening
        transport.start(Recorder())
        count = 0
        try:
            async with asyncio.timeout(1.0):
                while True:
                    server.cut()
                    (await server.next()).accept("Parley-Resume: 1; received=0")
                    count += 1
        except TimeoutError:
            pass
        assert 2 < count < 8
        await transport.aclose()


@pytest.mark.parametrize("digits", [19, 5000])
async def test_numbers_with_more_digits_than_anybody_counts_are_none(digits: int) -> None:
    server = resuming()
    number = b"9" * digits
    async with served(server) as url, connected(url) as (_, seen):
        server.events[""].put_nowait(b"id: %b\ndata: {}\n\n" % number)
        server.events[""].put_nowait(b"id: 1\nafter: %b s\ndata: []\n\n" % number)
        assert (await seen.until_frames(3))[1:] == [b"{}", b"[]"]


async def test_a_time_to_keep_a_connection_may_be_any_number() -> None:
    server = resuming()
    server.first = (200, [*RESUMES, (b"keep-alive", b"timeout=" + b"9" * 5000)], server.first[2])
    async with old_fashioned(server) as url, connected(url) as (transport, _):
        await server.until("GET")
        transport.send(call(1, "session/list"))
        await server.until("session/list")


def test_a_cookie_may_expire_at_any_time() -> None:
    jar = CookieJar(is_secure=True)
    for zone in (b"GMT", b"-0000", b"+2359"):
        jar.store([(b"set-cookie", b"a=b; expires=Fri, 31 Dec 9999 23:59:59 " + zone)])
    assert jar.header == b"a=b"
