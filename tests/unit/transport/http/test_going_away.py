"""A server that goes away says so, and nobody tries to get back what is gone."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.transport.http.counting_agent import encode_request
from tests.unit.transport.http.scripted_server import connected_transport, serve_http2
from tests.unit.transport.recorder import Recorder

from parley.asgi_server.server import Server
from parley.transport.http._app.app import HttpApp
from parley.transport.http._client.http_transport import HttpTransport
from parley.transport.http._client.websocket_transport import WebSocketTransport

from .asgi_client import INITIALIZE, client_of
from .manual_clock import settle
from .scripted_agent import ScriptedAgent, request, update_text
from .test_client_order import event, names, opened, resuming
from .ws_client import WebSocket

GONE = "the server is going away; load or resume the session on a new connection"
both = pytest.mark.parametrize("scheme", ["http", "ws"])


async def test_who_comes_back_gets_410_and_who_is_new_503() -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        await client.initialize()
        socket = await WebSocket.open(client, {"acp-connection-id": "", "parley-resume": "1"})
        await app.aclose()
        assert await socket.closed() == (1001, GONE)
        await socket.task
        again = {
            "acp-connection-id": socket.headers["acp-connection-id"],
            "parley-resume": "1; received=0",
        }
        for response in (
            await client.refused(),
            await client.refused(after=3),
            await client.post(request(1, "session/list")),
            await client.request("DELETE"),
            await WebSocket.refused(client, again),
        ):
            assert (response.status, response.code) == (410, "going_away")
        client.connection = ""
        for response in (await client.post(INITIALIZE), await WebSocket.refused(client)):
            assert (response.status, response.code) == (503, "going_away")
            assert response.headers["retry-after"]
        assert len(host.served) == 2


@pytest.mark.parametrize("is_negotiated", [True, False])
async def test_the_stream_of_the_connection_says_it_to_those_who_understand(
    is_negotiated: bool,
) -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        await client.initialize(**({"parley_resume": "1"} if is_negotiated else {}))
        own, stream = await client.stream(), await client.stream("s")
        await settle()
        host.last.update("s", "the last words")
        await app.aclose()
        assert update_text((await stream.event()).data) == "the last words"
        for each in (own, stream):
            with pytest.raises((EOFError, KeyError, IndexError)):
                await each.event()
        output = b"".join(own.pieces)
        assert (f"id: 2\nend: {GONE}\n\n".encode() in output) == is_negotiated
        assert b"end:" not in b"".join(stream.pieces)


async def test_a_client_takes_what_still_comes_and_asks_for_nothing_more() -> None:
    server, states = resuming(), list[str]()

    def see(state: str, reason: str) -> None:
        states.append(state)

    async with (
        serve_http2(server) as url,
        connected_transport(url, on_state=see) as (transport, seen),
    ):
        await opened(server, transport, seen)
        message = len(server.requests)
        server.events[""].put_nowait(event(2, "before") + b"id: 4\nend: the server rests\n\n")
        server.events[""].put_nowait(None)
        await seen.until_frames(3)
        assert not seen.lost
        server.events["s-1"].put_nowait(event(3, "last"))
        server.events["s-1"].put_nowait(None)
        reason = await seen.until_lost()
        assert reason.endswith("ended: the server rests")
        assert names(seen) == ["before", "last"]
        assert states == ["gone"]
        assert server.names()[message:] == []


async def test_a_session_stream_that_never_ends_does_not_hold_it_up_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.transport.http._client.reconnect._LAST_MESSAGES_AFTER", 0.01)
    server = resuming()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        await opened(server, transport, seen)
        server.events[""].put_nowait(b"id: 4\nend: the server rests\n\n")
        assert "the server rests" in await seen.until_lost()


async def test_a_stream_that_was_cut_just_before_is_not_waited_for() -> None:
    server = resuming()
    refused = asyncio.Event()
    async with (
        serve_http2(server) as url,
        connected_transport(url, retry_after=0.01) as (transport, seen),
    ):
        await opened(server, transport, seen)

        def get(message: object) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
            refused.set()
            return 503, [], b""

        server.get = get
        server.events["s-1"].put_nowait(None)
        await refused.wait()
        server.events[""].put_nowait(b"id: 4\nend: the server rests\n\n")
        server.events[""].put_nowait(None)
        assert "the server rests" in await seen.until_lost()


@both
async def test_a_client_of_ours_learns_it_at_once(scheme: str) -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with Server(app) as server:
        url = f"{scheme}://127.0.0.1:{server.addresses[0][1]}/acp"
        kind = HttpTransport if scheme == "http" else WebSocketTransport
        states: list[str] = []
        transport = await kind.open(url, on_state=lambda state, reason: states.append(state))
        seen = Recorder()
        transport.start(seen)
        transport.send(encode_request(0, "initialize", protocolVersion=1))
        await seen.until_frames(1)
        transport.send(encode_request(1, "session/new"))
        await host.last.next()
        host.last.respond(1, {"sessionId": "s"})
        await seen.until_frames(2)
        host.last.update("s", "the stream is there")
        await seen.until_frames(3)
        host.last.update("s", "the last words")
        await app.aclose()
        reason = await seen.until_lost()
        assert GONE in reason
        assert states == ["gone"]
        assert b"the last words" in seen.frames[3]
        await transport.aclose()
