"""`HttpTransport` against a server as others write it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.unit.transport.http.counting_agent import encode_notification, encode_request
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

from parley.errors import ConnectFailed, ConnectionClosed, Unauthorized
from parley.transport.http._client.http_transport import HttpTransport

Serve = Callable[[ScriptedServer], AbstractAsyncContextManager[str]]


async def opened(server: ScriptedServer, transport: HttpTransport, seen: Recorder) -> None:
    """Open a session."""
    transport.send(encode_request(1, "session/new"))
    await server.until_requested("session/new")
    server.respond("", 1, sessionId="s-1")
    await server.until_requested("GET s-1")


def compact(frame: bytes) -> bytes:
    return json.dumps(json.loads(frame), separators=(",", ":")).encode()


def update(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update"} | {
        "params": {"sessionId": "s-1", "update": {"sessionUpdate": "x", "text": text}}
    }


@pytest.mark.requirement("TR-HTTP-03", "TR-HTTP-22", "TR-HTTP-26")
async def test_a_conversation_is_posts_and_streams_over_http_2() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        transport.send(encode_request(2, "session/prompt", sessionId="s-1"))
        await server.until_requested("session/prompt")
        server.send_event("s-1", update("hello"))
        server.respond("s-1", 2, stopReason="end_turn")
        frames = await seen.until_frames(4)
        assert [json.loads(each).get("id") for each in frames] == [0, 1, None, 2]
        assert transport.http_version == "2"
    assert [name for name in server.names() if name != "GET"] == [
        *("initialize", "session/new", "GET s-1", "session/prompt", "DELETE")
    ]
    assert {each.http_version for each in server.requests} == {"2"}
    ids = [each.headers.get("acp-connection-id") for each in server.requests]
    assert ids == [None, *["c-1"] * 5]
    assert "acp-session-id" not in server.request_named("session/new").headers
    assert server.request_named("session/prompt").headers["acp-session-id"] == "s-1"
    assert server.request_named("session/prompt").headers["content-type"] == "application/json"
    assert server.request_named("GET").headers["accept"] == "text/event-stream"


async def test_a_server_that_speaks_http_1_alone_is_spoken_to_so() -> None:
    server = ScriptedServer()
    async with serve_http1(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.send_event("s-1", update("hello"))
        await seen.until_frames(3)
        assert transport.http_version == "1.1"
    assert {each.http_version for each in server.requests} == {"1.1"}


@pytest.mark.requirement("TR-HTTP-25")
async def test_cookies_go_with_every_later_request() -> None:
    server = ScriptedServer()
    status, headers, body = server.first
    server.first = (status, [*headers, (b"set-cookie", b"node=7; Path=/; HttpOnly")], body)
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
    assert [each.headers.get("cookie") for each in server.requests] == [None, *["node=7"] * 4]


@pytest.mark.requirement("TR-HTTP-27")
async def test_the_version_that_was_agreed_on_goes_with_every_later_request() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
    versions = [each.headers.get("acp-protocol-version") for each in server.requests]
    assert versions == [None, *["1"] * 4]


@pytest.mark.requirement("TR-HTTP-20")
async def test_a_response_goes_with_the_session_on_whose_stream_the_request_came() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.send_event("s-1", encode_request(7, "session/request_permission", sessionId="s-1"))
        server.send_event("", encode_request(8, "elicitation/create"))
        await seen.until_frames(4)
        transport.send(b'{"jsonrpc":"2.0","id":7,"result":{}}')
        transport.send(b'{"jsonrpc":"2.0","id":8,"result":{}}')
        while server.names().count("response") < 2:
            server.changed.clear()
            await server.changed.wait()
    sessions = {
        each.message["id"]: each.headers.get("acp-session-id")
        for each in server.requests
        if each.name == "response"
    }
    assert sessions == {7: "s-1", 8: None}


@pytest.mark.requirement("TR-HTTP-21", "TR-HTTP-30")
async def test_the_header_names_the_session_of_the_params_and_cancelling_names_none() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        transport.send(encode_notification("session/cancel", sessionId="s-1"))
        transport.send(
            encode_notification("_vendor/thing", sessionId="s-1", _meta={"sessionId": "other"})
        )
        transport.send(encode_notification("$/cancel_request", requestId=3))
        await server.until_requested("$/cancel_request")
    for name, session in (("session/cancel", "s-1"), ("_vendor/thing", "s-1")):
        assert server.request_named(name).headers["acp-session-id"] == session
    assert "acp-session-id" not in server.request_named("$/cancel_request").headers


@pytest.mark.parametrize("serve", [serve_http2, serve_http1])
async def test_a_plain_server_gets_one_message_after_the_other(serve: Serve) -> None:
    server = ScriptedServer()
    under_way = most = 0
    order: list[int] = []

    async def post(request: ReceivedRequest) -> Reply | None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(5):
            await asyncio.sleep(0)
        under_way -= 1
        order.append(request.message["params"]["n"])
        return None

    server.post = post
    async with serve(server) as url, connected_transport(url) as (transport, _):
        for number in range(20):
            transport.send(encode_notification("_vendor/thing", n=number))
    assert order == list(range(20))
    assert most == 1
    assert all("parley-message" not in each.headers for each in server.requests)


@pytest.mark.requirement("TR-HTTP-18")
async def test_the_stream_of_a_session_is_open_before_it_is_loaded() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, _):
        transport.send(encode_request(1, "session/load", sessionId="s-1", cwd="/"))
        transport.send(encode_notification("session/cancel", sessionId="s-1"))
        await server.until_requested("session/cancel")
    order = [name for name in server.names() if name not in ("initialize", "GET", "DELETE")]
    assert order == ["GET s-1", "session/load", "session/cancel"]


async def test_a_server_that_does_not_know_the_session_before_it_is_loaded_is_asked_again() -> None:
    server = ScriptedServer()
    is_loaded = False

    def get(request: ReceivedRequest) -> Reply | None:
        return (404, [], b"") if request.name == "GET s-1" and not is_loaded else None

    server.get = get
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/load", sessionId="s-1", cwd="/"))
        await server.until_requested("session/load")
        is_loaded = True
        server.respond("", 1)
        server.send_event("s-1", update("replayed"))
        await seen.until_frames(3)


@pytest.mark.requirement("TR-HTTP-17")
async def test_the_response_to_a_load_waits_for_the_replay_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silence_after = "parley.transport.http._client.subscription.SILENCE_AFTER"
    monkeypatch.setattr(silence_after, 3600)
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/load", sessionId="s-1", cwd="/"))
        await server.until_requested("session/load")
        server.respond("", 1)
        server.respond("", 99)
        await seen.until_frames(2)
        server.send_event("s-1", update("one"))
        await seen.until_frames(3)
        monkeypatch.setattr(silence_after, 0.01)
        server.send_event("s-1", update("two"))
        frames = await seen.until_frames(5)
        assert [json.loads(each).get("id") for each in frames] == [0, 99, None, None, 1]


@pytest.mark.requirement("TR-HTTP-17", "TR-HTTP-36")
async def test_the_closing_idle_ends_the_wait_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.transport.http._client.subscription.SILENCE_AFTER", 3600)
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/resume", sessionId="s-1", cwd="/"))
        await server.until_requested("session/resume")
        state = {"sessionUpdate": "state_update", "state": "idle"}
        server.send_event(
            "s-1", compact(encode_notification("session/update", sessionId="s-1", update=state))
        )
        await seen.until_frames(2)
        server.respond("", 1)
        await seen.until_frames(3)


async def test_a_session_that_was_closed_is_no_longer_read() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        transport.send(encode_request(2, "session/close", sessionId="s-1"))
        await server.until_requested("session/close")
        server.respond("s-1", 2)
        await seen.until_frames(3)
        while "s-1" not in server.disconnected:
            server.changed.clear()
            await server.changed.wait()
        assert not seen.lost


@pytest.mark.requirement("TR-HTTP-24")
async def test_a_fork_is_another_session_on_the_connection() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        transport.send(encode_request(2, "session/fork", sessionId="s-1"))
        await server.until_requested("session/fork")
        server.respond("s-1", 2, sessionId="s-2")
        await server.until_requested("GET s-2")


@pytest.mark.parametrize(
    ("status", "code"), [(413, -32600), (400, -32600), (429, -32005), (503, -32005), (500, -32603)]
)
async def test_a_refused_request_fails_with_a_response_that_says_so(status: int, code: int) -> None:
    server = ScriptedServer()

    async def post(request: ReceivedRequest) -> Reply | None:
        return (status, JSON, b'{"error":{"message":"no\\u001b[31m thanks"}}')

    server.post = post
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/new"))
        transport.send(encode_notification("_vendor/thing"))
        frames = await seen.until_frames(2)
        error = json.loads(frames[1])["error"]
        assert error["code"] == code
        assert f"({status}): no[31m thanks" in error["message"]
        assert error["data"] == {"status": status}
        assert not seen.lost


@pytest.mark.parametrize(
    ("status", "words"), [(404, "does not know this connection"), (401, "token"), (403, "allow")]
)
async def test_a_server_that_does_not_know_us_any_more_ends_the_connection(
    status: int, words: str
) -> None:
    server = ScriptedServer()

    async def post(request: ReceivedRequest) -> Reply | None:
        return (status, [], b"")

    server.post = post
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/new"))
        assert words in await seen.until_lost()
        with pytest.raises(ConnectionClosed):
            transport.send(encode_request(2, "session/new"))
        assert transport.gone_status == (404 if status == 404 else None)


async def begin(url: str, **options: Any) -> tuple[HttpTransport, Recorder]:
    transport = await HttpTransport.open(url, **options)
    recorder = Recorder()
    transport.start(recorder)
    transport.send(encode_request(0, "initialize", protocolVersion=1))
    return transport, recorder


MOVED = [(b"location", b"https://example.org/x?secret=1")]


@pytest.mark.parametrize(
    ("status", "headers", "kind", "words"),
    [
        (401, JSON, Unauthorized, "requires a token"),
        (403, JSON, ConnectFailed, "(403): no"),
        (302, MOVED, ConnectFailed, "example.org/x'"),
        (200, JSON, ConnectFailed, "did not return a connection id"),
    ],
)
async def test_a_server_that_does_not_let_us_in_is_reported_with_its_reason(
    status: int, headers: list[tuple[bytes, bytes]], kind: type[ConnectFailed], words: str
) -> None:
    server = ScriptedServer()
    server.first = (status, headers, b"no")
    async with serve_http2(server) as url:
        transport, seen = await begin(url, token="t0ps3cret")
        reason = await seen.until_lost()
        assert words in reason
        assert type(transport.refusal) is kind
        assert "secret" not in reason
        assert "t0ps3cret" not in reason
        assert server.requests[0].headers["authorization"] == "Bearer t0ps3cret"
        await transport.aclose()


async def test_an_agent_that_refuses_to_be_initialized_says_so_itself() -> None:
    server = ScriptedServer()
    error = b'{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"Initialize failed"}}'
    server.first = (500, JSON, error)
    async with serve_http2(server) as url:
        transport, seen = await begin(url)
        assert await seen.until_frames(1) == [error]
        await transport.aclose()


@pytest.mark.requirement("TR-HTTP-28", "TR-HTTP-34")
@pytest.mark.parametrize("session", ["", "s-1"])
async def test_with_a_plain_server_a_lost_stream_is_the_end(session: str) -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.events[session].put_nowait(None)
        reason = await seen.until_lost()
        assert "the server ended it" in reason
        assert ("a session" if session else "the connection") in reason
    assert all("last-event-id" not in each.headers for each in server.requests)


async def test_a_session_that_no_header_can_name_is_refused_here() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/prompt", sessionId="a\r\nx-evil: 1"))
        frames = await seen.until_frames(2)
        assert json.loads(frames[1])["error"]["code"] == -32600
    assert "session/prompt" not in server.names()


async def test_a_slow_server_makes_senders_wait_and_loses_nothing() -> None:
    server = ScriptedServer()
    may_go = asyncio.Event()

    async def post(request: ReceivedRequest) -> Reply | None:
        await may_go.wait()
        return None

    server.post = post
    async with serve_http2(server) as url, connected_transport(url) as (transport, _):
        for number in range(64):
            transport.send(encode_notification("_vendor/thing", n=number, pad="." * 8192))
        room = transport.drained()
        assert room is not None
        assert not room.done()
        may_go.set()
        await room
    sent = [each.message["params"]["n"] for each in server.requests if each.name == "_vendor/thing"]
    assert sent == list(range(64))


async def test_a_reader_that_pauses_stalls_the_server_and_gets_everything_later() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        transport.pause_reading()
        for number in range(400):
            server.send_event("s-1", update(f"{number} " + "." * 4096))
        for number in range(20):
            transport.send(encode_notification(f"_vendor/{number}"))
            await server.until_requested(f"_vendor/{number}")
        assert server.sent_events < 200  # the windows are full long before the end
        assert len(seen.frames) == 2
        transport.resume_reading()
        frames = await seen.until_frames(402)
        texts = [json.loads(each)["params"]["update"]["text"] for each in frames[2:]]
        assert [int(text.split()[0]) for text in texts] == list(range(400))
