"""`HttpTransport` with a server that negotiated to resume, played event by event."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.transport.http.counting_agent import encode_notification, encode_request
from tests.unit.transport.http.scripted_server import (
    ReceivedRequest,
    Reply,
    ScriptedServer,
    connected_transport,
    serve_http2,
)
from tests.unit.transport.recorder import Recorder

from parley.transport.http._client import subscription
from parley.transport.http._client.http_transport import HttpTransport


def resuming() -> ScriptedServer:
    server = ScriptedServer()
    status, headers, body = server.first
    server.first = (status, [*headers, (b"parley-resume", b"1; grace=60")], body)
    return server


def event(n: int, name: str, after: str = "") -> bytes:
    wait = f"after: {after}\n" if after else ""
    return f'id: {n}\n{wait}data: {{"jsonrpc":"2.0","method":"{name}"}}\n\n'.encode()


async def opened(server: ScriptedServer, transport: HttpTransport, seen: Recorder) -> None:
    transport.send(encode_request(1, "session/new"))
    await server.until_requested("session/new")
    server.events[""].put_nowait(
        b'id: 1\ndata: {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}\n\n'
    )
    await server.until_requested("GET s-1")
    await seen.until_frames(2)


def names(seen: Recorder) -> list[str]:
    return [json.loads(each)["method"] for each in seen.frames[2:]]


@pytest.mark.requirement("TR-HTTP-17")
async def test_a_message_waits_for_what_it_must_not_overtake() -> None:
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.events[""].put_nowait(event(4, "late", "3 s-1"))
        server.events[""].put_nowait(event(5, "free"))
        await seen.until_frames(3)
        server.events["s-1"].put_nowait(event(2, "first"))
        await seen.until_frames(4)
        server.events["s-1"].put_nowait(event(3, "second"))
        await seen.until_frames(6)
        assert names(seen) == ["free", "first", "second", "late"]
        server.events[""].put_nowait(event(6, "behind", "3 s-1"))
        server.events[""].put_nowait(event(7, "unknown", "9 nobody"))
        server.events[""].put_nowait(event(8, "odd", "what"))
        await seen.until_frames(9)
        assert names(seen)[4:] == ["behind", "unknown", "odd"]


async def test_a_message_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "AFTER_TIMEOUT", 0.01)
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.events[""].put_nowait(event(4, "late", "3 s-1"))
        await seen.until_frames(3)


async def test_a_message_waits_as_long_as_the_stream_is_interrupted_or_brings_others() -> None:
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        stream = transport._streams["s-1"]
        server.events[""].put_nowait(event(4, "late", "3 s-1"))
        server.events[""].put_nowait(event(5, "free"))
        await seen.until_frames(3)
        there, stream._response = stream._response, None  # as while it is opened again
        stream._overdue(3, stream.cursor)
        stream._response = there
        stream._overdue(3, stream.cursor - 1)  # something else has come meanwhile
        server.events["s-1"].put_nowait(event(3, "second"))
        await seen.until_frames(5)
        assert names(seen) == ["free", "second", "late"]


async def test_a_message_does_not_wait_for_a_session_that_is_closed() -> None:
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.events[""].put_nowait(event(9, "late", "8 s-1"))
        transport.send(encode_request(2, "session/close", sessionId="s-1"))
        await server.until_requested("session/close")
        server.events[""].put_nowait(b'id: 10\ndata: {"jsonrpc":"2.0","id":2,"result":{}}\n\n')
        await seen.until_frames(4)
        assert json.loads(seen.frames[3])["method"] == "late"


async def test_an_event_that_is_sent_twice_is_delivered_once() -> None:
    server = resuming()
    async with (
        serve_http2(server) as url,
        connected_transport(url, retry_after=0.001) as (transport, seen),
    ):
        await opened(server, transport, seen)
        server.events["s-1"].put_nowait(event(2, "a") + event(3, "b"))
        await seen.until_frames(4)
        server.events["s-1"].put_nowait(None)
        while server.names().count("GET s-1") < 2:
            server.changed.clear()
            await server.changed.wait()
        cursors = [
            each.headers.get("last-event-id") for each in server.requests if each.name == "GET s-1"
        ]
        assert cursors == [None, "3"]
        server.events["s-1"].put_nowait(event(2, "a") + event(3, "b") + event(4, "c"))
        server.events["s-1"].put_nowait(event(5, "d") + event(6, "e"))
        await seen.until_frames(7)
        assert names(seen) == ["a", "b", "c", "d", "e"]
        assert not seen.lost


async def test_messages_are_numbered_and_many_are_under_way() -> None:
    server = resuming()
    under_way = most = 0
    may_go = asyncio.Event()

    async def post(request: ReceivedRequest) -> Reply | None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 20:
            may_go.set()
        await may_go.wait()
        return None

    server.post = post
    async with serve_http2(server) as url, connected_transport(url) as (transport, _):
        for number in range(20):
            transport.send(encode_notification("_vendor/thing", n=number))
        await may_go.wait()
    things = [each for each in server.requests if each.name == "_vendor/thing"]
    numbers = {each.message["params"]["n"]: each.headers["parley-message"] for each in things}
    assert numbers == {number: str(number + 1) for number in range(20)}
    assert most == 20
    assert server.requests[0].headers["parley-resume"] == "1"


async def test_a_message_that_the_server_is_not_ready_for_is_sent_again() -> None:
    server = resuming()
    refusals = [503, 502, 408]

    async def post(request: ReceivedRequest) -> Reply | None:
        return (refusals.pop(0), [], b"") if refusals else None

    server.post = post
    states: list[str] = []

    def see(state: str, reason: str) -> None:
        states.append(state)

    async with (
        serve_http2(server) as url,
        connected_transport(url, retry_after=0.001, on_state=see) as (transport, _),
    ):
        transport.send(encode_notification("_vendor/thing"))
    sent = [
        each.headers["parley-message"] for each in server.requests if each.name == "_vendor/thing"
    ]
    assert sent == ["1"] * 4
    assert states == ["away", "connected"]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_stream_that_cannot_be_resumed_ends_the_connection(status: int) -> None:
    server = resuming()

    def get(request: ReceivedRequest) -> Reply | None:
        return (status, [], b"") if "last-event-id" in request.headers else None

    server.get = get
    async with (
        serve_http2(server) as url,
        connected_transport(url, retry_after=0.001) as (transport, seen),
    ):
        await server.until_requested("GET")
        server.events[""].put_nowait(None)
        assert f"({status})" in await seen.until_lost()
        assert transport.gone_status == status
    assert ("DELETE" in server.names()) == (transport.gone_status is None)
