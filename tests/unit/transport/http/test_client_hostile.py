"""Servers that refuse, lie or send away: the client neither hangs nor storms them."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.transport.http.counting_agent import encode_notification, encode_request
from tests.unit.transport.http.raw_socket import RawServer
from tests.unit.transport.http.scripted_agent import ScriptedAgent, request
from tests.unit.transport.http.scripted_server import (
    JSON,
    ReceivedRequest,
    Reply,
    ScriptedServer,
    connected_transport,
    serve_http1,
    serve_http2,
)
from tests.unit.transport.recorder import Recorder

from parley.asgi_server.server import Server
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._asgi_types import (
    Message,
    Receive,
    Scope,
    Send,
)
from parley.transport.http._backoff import Backoff
from parley.transport.http._client.cookies import CookieJar
from parley.transport.http._client.websocket_transport import WebSocketTransport

RESUMES = [*JSON, (b"acp-connection-id", b"c-1"), (b"parley-resume", b"1; grace=60")]


def resuming() -> ScriptedServer:
    """A server that can resume, as it says."""
    server = ScriptedServer()
    server.first = (200, RESUMES, server.first[2])
    return server


async def test_a_request_too_many_fails_alone_and_what_follows_arrives() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, limits=AppLimits(in_flight=2))
    async with Server(app) as server:
        url = f"http://127.0.0.1:{server.addresses[0][1]}/acp"
        async with connected_transport(url) as (transport, seen):
            for id in (1, 2, 3):
                transport.send(encode_request(id, "session/list"))
            refused = json.loads((await seen.until_frames(2))[1])
            assert (refused["id"], refused["error"]["code"]) == (3, -32005)
            transport.send(encode_notification("_vendor/thing"))
            arrived = [await host.last.next() for _ in range(3)]
            assert [each.get("id") for each in arrived] == [1, 2, None]
        await app.aclose()


async def test_more_posts_than_a_server_takes_at_once_are_sent_again() -> None:
    host = ScriptedAgent()
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
        async with connected_transport(url, retry_after=0.01) as (transport, seen):
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

    async def post(message: ReceivedRequest) -> Reply | None:
        if message.headers["parley-message"] == "1":
            return (status, [(b"parley-message", b"1")], b"{}")
        return (status, [], b"{}") if len(server.requests) < 6 else None

    server.post = post
    async with (
        serve_http2(server) as url,
        connected_transport(url, retry_after=0.001) as (transport, seen),
    ):
        transport.send(encode_request(1, "session/new"))
        assert json.loads((await seen.until_frames(2))[1])["error"]["data"] == {"status": status}
        transport.send(encode_request(2, "session/list"))
        while len(server.requests) < 6:
            server.changed.clear()
            await server.changed.wait()
        numbers = [each.headers.get("parley-message") for each in server.requests]
        assert numbers.count("1") == 1
        assert numbers.count("2") >= 3


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds of each wait before an attempt; the waits end at once."""
    seconds: list[float] = []
    next_wait = Backoff.next

    def record(backoff: Backoff) -> float:
        seconds.append(next_wait(backoff))
        return 0.0

    monkeypatch.setattr(Backoff, "next", record)
    return seconds


async def test_a_server_that_is_not_ready_is_left_to_rest_however_much_waits(
    waits: list[float],
) -> None:
    server = resuming()

    async def post(message: ReceivedRequest) -> Reply | None:
        return (503, [], b"")

    server.post = post
    async with serve_http1(server) as url, connected_transport(url) as (transport, _):
        for id in range(5):
            transport.send(encode_request(id, "session/list"))
        while (attempts := server.names().count("session/list")) < 8:
            server.changed.clear()
            await server.changed.wait()
        assert len(waits) >= attempts - 1, "each attempt but the first one follows a rest"
        assert waits[6] > 8 * waits[0]


async def test_a_stream_that_ends_at_once_is_requested_less_and_less_often(
    waits: list[float],
) -> None:
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url, retry_after=0.1):
        for count in range(1, 8):
            while server.names().count("GET") < count:
                server.changed.clear()
                await server.changed.wait()
            server.events[""].put_nowait(None)
        while server.names().count("GET") < 8:
            server.changed.clear()
            await server.changed.wait()
    assert len(waits) == 7
    assert waits[0] <= 0.1
    assert min(waits[3:]) >= 0.4


async def test_a_socket_that_ends_as_soon_as_it_has_begun_is_opened_ever_less_often(
    waits: list[float],
) -> None:
    async with RawServer.open() as server:
        opening = asyncio.create_task(WebSocketTransport.open(server.url, retry_after=0.1))
        first = await server.next()
        first.accept("Acp-Connection-Id: c", "Parley-Resume: 1; grace=60")
        transport = await opening
        transport.start(Recorder())
        for _ in range(7):
            server.cut()
            (await server.next()).accept("Parley-Resume: 1; received=0")
        await transport.aclose()
    assert len(waits) == 7
    assert waits[0] <= 0.1
    assert min(waits[3:]) >= 0.4


@pytest.mark.parametrize("digits", [19, 5000])
async def test_numbers_with_more_digits_than_anybody_counts_are_none(digits: int) -> None:
    server = resuming()
    number = b"9" * digits
    async with serve_http2(server) as url, connected_transport(url) as (_, seen):
        server.events[""].put_nowait(b"id: %b\ndata: {}\n\n" % number)
        server.events[""].put_nowait(b"id: 1\nafter: %b s\ndata: []\n\n" % number)
        assert (await seen.until_frames(3))[1:] == [b"{}", b"[]"]


async def test_a_time_to_keep_a_connection_may_be_any_number() -> None:
    server = resuming()
    server.first = (200, [*RESUMES, (b"keep-alive", b"timeout=" + b"9" * 5000)], server.first[2])
    async with serve_http1(server) as url, connected_transport(url) as (transport, _):
        await server.until_requested("GET")
        transport.send(encode_request(1, "session/list"))
        await server.until_requested("session/list")


def test_a_cookie_may_expire_at_any_time() -> None:
    jar = CookieJar(is_secure=True)
    for zone in (b"GMT", b"-0000", b"+2359"):
        jar.store([(b"set-cookie", b"a=b; expires=Fri, 31 Dec 9999 23:59:59 " + zone)])
    assert jar.header == b"a=b"
