"""The start and end of connections: TLS, disconnects, silent peers, shutdown of the server."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from h2 import events
from h2.errors import ErrorCodes
from tests.unit.transport.http.certificate import trusting, written
from websockets.asyncio.client import connect

from parley.asgi_server.extensions import ON_DISCONNECT
from parley.asgi_server.server import Server
from parley.asgi_server.tls import server_tls

from .raw_clients import UPGRADE, RawClient, RawH2Client, client_frame, upgraded_client
from .scripted_app import AppCall, ScriptedApp, accept_websocket, echo, running_server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
PING, GOAWAY = 6, 7
Leaving = tuple[RawClient, Callable[[], None]]


@pytest.mark.requirement("TR-HTTP-03")
async def test_tls_speaks_http_2_with_those_who_offer_it_and_1_1_with_others(
    tmp_path: Path,
) -> None:
    app = ScriptedApp()
    async with running_server(app, tls=server_tls(*written(tmp_path))) as (_, port):
        for offered, spoken in ((("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1")):
            raw = await RawClient.connect(port, trusting(*offered))
            tls: ssl.SSLObject = raw.writer.get_extra_info("ssl_object")
            assert tls.selected_alpn_protocol() == spoken
            raw.abort()
        async with await RawH2Client.connect(port, trusting("h2")) as peer:
            stream = peer.open()
            call = await app.next()
            assert (call.scope["http_version"], call.scope["scheme"]) == ("2", "https")
            await call.respond(b"x" * 30_000)
            assert (await peer.response(stream))[2] == b"x" * 30_000
        async with await RawClient.connect(port, trusting()) as raw:
            raw.send(GET)
            call = await app.next()
            assert (call.scope["http_version"], call.scope["scheme"]) == ("1.1", "https")
            await call.respond(b"yes", headers=[(b"content-length", b"3")])
            assert (await raw.response())[2] == b"yes"


async def test_a_websocket_runs_over_tls(tmp_path: Path) -> None:
    async with (
        running_server(echo, tls=server_tls(*written(tmp_path))) as (_, port),
        connect(f"wss://localhost:{port}/", ssl=trusting(), proxy=None) as peer,
    ):
        await peer.send("secret")
        assert await peer.recv() == "secret"


async def test_a_tls_handshake_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    async with (
        running_server(echo, tls=server_tls(*written(tmp_path)), head_timeout=0.05) as (_, port),
        await RawClient.connect(port) as raw,
    ):
        assert await raw.read_all() in (b"", b"<reset>")


async def test_a_tls_handshake_under_way_is_a_connection_like_any_other(tmp_path: Path) -> None:
    async with running_server(echo, tls=server_tls(*written(tmp_path)), connections=2) as (
        server,
        port,
    ):
        silent = [await RawClient.connect(port) for _ in range(2)]
        async with await RawClient.connect(port) as third:
            assert await third.read_all() in (b"", b"<reset>")
        silent[0].abort()
        while True:  # the place is free as soon as the server has noticed
            try:
                async with await RawClient.connect(port, trusting()) as fourth:
                    fourth.send(GET)
                    assert await fourth.status() == 200
                break
            except OSError:
                continue
        await server.shutdown(5)
        assert await silent[1].read_all() in (b"", b"<reset>")
        silent[1].abort()


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_a_peer_that_says_hello_at_once_is_read_on_every_loop(tmp_path: Path, kind: str) -> None:
    def shake(port: int) -> None:
        for _ in range(20):
            with (
                socket.create_connection(("127.0.0.1", port), timeout=300) as plain,
                trusting().wrap_socket(plain, server_hostname="localhost") as tls,
            ):
                tls.sendall(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                assert tls.recv(12) == b"HTTP/1.1 200"

    async def run() -> None:
        async with running_server(echo, tls=server_tls(*written(tmp_path))) as (_, port):
            await asyncio.to_thread(shake, port)

    factory = pytest.importorskip("uvloop").new_event_loop if kind == "uvloop" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(run())


async def _leave_h1(port: int) -> Leaving:
    raw = await RawClient.connect(port)
    raw.send(GET)

    def leave() -> None:
        raw.writer.close()

    return raw, leave


async def _abort_h1(port: int) -> Leaving:
    raw = await RawClient.connect(port)
    raw.send(GET)
    opened: socket.socket = raw.writer.get_extra_info("socket")
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    return raw, raw.abort


async def _reset_h2(port: int) -> Leaving:
    peer = await RawH2Client.connect(port)
    stream = peer.open()

    def leave() -> None:
        peer.codec.reset_stream(stream, ErrorCodes.CANCEL)
        peer.flush()

    return peer.raw, leave


async def _leave_h2(port: int) -> Leaving:
    peer = await RawH2Client.connect(port)
    peer.open()

    def leave() -> None:
        peer.raw.writer.close()

    return peer.raw, leave


WAYS_TO_LEAVE = [_leave_h1, _abort_h1, _reset_h2, _leave_h2]


@pytest.mark.parametrize("way", WAYS_TO_LEAVE)
async def test_the_application_learns_at_once_that_its_peer_is_gone(
    way: Callable[[int], Awaitable[Leaving]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        raw, leave = await way(port)
        call = await app.next()
        await call.receive()
        await call.start()
        await call.send_chunk(b"begun")
        learning = asyncio.ensure_future(call.receive())
        await asyncio.sleep(0)
        assert not learning.done()
        leave()
        assert await learning == {"type": "http.disconnect"}
        with pytest.raises(OSError, match="closed") as gone:
            await call.send_chunk(b"more")
        call.end(gone.value)  # as it would be if nobody caught it
        raw.abort()
    assert caplog.text == ""


async def test_a_disconnect_is_reported_once() -> None:
    app, reported = ScriptedApp(), list[str]()
    async with running_server(app) as (_, port):
        raw = await RawClient.connect(port)
        raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        call = await app.next()
        on_disconnect = call.scope["extensions"][ON_DISCONNECT]
        on_disconnect(lambda: reported.append("waiting"))
        learning = asyncio.ensure_future(call.receive())
        raw.send(b"not a chunk\r\n")
        assert await learning == {"type": "http.disconnect"}
        on_disconnect(lambda: reported.append("late"))
        await raw.read_all()
        raw.abort()
        call.end()
    assert reported == ["waiting", "late"]


async def test_a_send_that_waits_learns_it_too() -> None:
    app = ScriptedApp()
    async with (
        running_server(app) as (_, port),
        await RawH2Client.connect(port, window=0) as peer,
    ):
        stream = peer.open()
        call = await app.next()
        await call.start()
        sending = asyncio.create_task(call.send_chunk(b"x" * 1_000_000))
        await peer.event(events.ResponseReceived, stream)
        peer.codec.reset_stream(stream)
        peer.flush()
        await sending
        assert (await call.receive())["type"] == "http.request"  # the request was whole
        assert (await call.receive())["type"] == "http.disconnect"
        call.end()


@pytest.mark.parametrize("is_aborted", [False, True])
async def test_a_dropped_websocket_is_reported_as_1006(*, is_aborted: bool) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        raw = await connecting
        raw.send(client_frame(1, b"last"))
        if is_aborted:
            assert (await call.receive())["text"] == "last"
            raw.abort()
        else:
            raw.writer.close()
            assert (await call.receive())["text"] == "last"
            raw.abort()
        assert await call.receive() == {"type": "websocket.disconnect", "code": 1006, "reason": ""}
        with pytest.raises(OSError, match="closed"):
            await call.send({"type": "websocket.send", "text": "late"})
        call.end()


@pytest.mark.parametrize("is_alive", [False, True])
async def test_a_silent_peer_is_asked_and_left_only_if_it_does_not_answer(
    *, is_alive: bool
) -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"ping_after": 0.05, "ping_timeout": 0.1}
    async with (
        running_server(app, **limits) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        peer.open()
        call = await app.next()
        await call.receive()
        await call.start()
        pings = 0
        while is_alive and pings < 3:  # reading acknowledges them
            await peer.event(events.PingReceived)
            pings += 1
        if not is_alive:
            assert await call.receive() == {"type": "http.disconnect"}
        else:
            await call.send_chunk(b"there")
            assert (await peer.event(events.DataReceived)).data == b"there"
        call.end()


async def test_a_silent_websocket_is_asked_and_left_if_it_does_not_answer() -> None:
    app = ScriptedApp()
    async with running_server(app, ping_after=0.05, ping_timeout=0.1) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            for _ in range(3):
                assert await raw.reader.readexactly(2) == b"\x89\0"
                raw.send(client_frame(10))
            assert (await call.receive())["code"] == 1006
            call.end()


async def test_draining_lets_what_runs_end_and_closes_the_rest() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, close_timeout=0.1) as (server, port),
        await RawClient.connect(port) as busy,
        await RawClient.connect(port) as idle,
        await RawClient.connect(port) as fresh,
        await RawH2Client.connect(port) as peer,
    ):
        idle.send(GET)
        await (await app.next()).respond(b"", 204)
        await idle.response()
        busy.send(GET)
        of_busy = await app.next()
        peer.open()
        of_peer = await app.next()
        draining = asyncio.create_task(server.shutdown(10))
        assert await idle.read_all() == b""
        assert await fresh.read_all() == b""
        assert (await peer.event(events.ConnectionTerminated)).error_code == 0
        with pytest.raises(OSError, match="Connect call failed"):
            await RawClient.connect(port)
        await of_busy.respond(b"", 204)
        status, headers, _ = await busy.response()
        assert (status, headers[b"connection"]) == (b"HTTP/1.1 204 No Content", b"close")
        assert await busy.read_all() == b""
        await of_peer.respond(b"last")
        await draining


async def test_a_response_under_way_arrives_whole_after_goaway() -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"close_timeout": 0.1}
    async with (
        running_server(app, **limits) as (server, port),
        await RawClient.connect(port) as raw,
    ):
        peer = RawH2Client(raw, 65535)
        peer.open()
        call = await app.next()
        await peer.event(events.RemoteSettingsChanged)
        draining = asyncio.create_task(server.shutdown(10))
        await asyncio.sleep(0)
        await call.respond(b"last words")
        assert b"last words" in await raw.read_all()
        await draining


async def test_a_client_that_asks_for_nothing_more_gets_what_it_has_asked_for() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open(b"POST", body=b"")
        call = await app.next()
        await call.start()
        peer.frame(PING, 0, 0, b"12345678")
        peer.frame(GOAWAY, 0, 0, bytes(8))
        peer.codec.send_data(stream, b"the rest", end_stream=True)
        peer.flush()
        assert await call.body() == b"the rest"
        await peer.event(events.PingAckReceived)
        await call.send_chunk(b"last words", more=False)
        call.end()
        assert (await peer.response(stream))[2] == b"last words"
        assert await peer.closed() == -1, "it has said goodbye itself"


async def test_a_client_that_says_goodbye_and_stays_is_left_after_a_time() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, leave_timeout=0.05) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        peer.open()
        call = await app.next()
        await call.receive()
        await call.start()
        peer.frame(GOAWAY, 0, 0, bytes(8))
        assert (await call.receive())["type"] == "http.disconnect"
        call.end()
        assert await peer.closed() == ErrorCodes.NO_ERROR


async def test_a_client_in_trouble_is_gone_at_once() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        peer.open()
        call = await app.next()
        await call.receive()
        peer.frame(GOAWAY, 0, 0, bytes(7) + bytes([ErrorCodes.INTERNAL_ERROR]))
        assert (await call.receive())["type"] == "http.disconnect"
        call.end()


async def test_what_does_not_end_is_cut_and_then_stopped() -> None:
    app = ScriptedApp()
    async with running_server(app) as (server, port):
        connecting = asyncio.create_task(upgraded_client(port))
        of_ws = await accept_websocket(app)
        async with (
            await connecting as ws,
            await RawClient.connect(port) as h1,
            await RawH2Client.connect(port) as h2,
        ):
            h1.send(GET)
            of_h1 = await app.next()
            stream = h2.open()
            of_h2 = await app.next()
            for call in (of_h1, of_h2):
                await call.receive()
                await call.start()
                await call.send_chunk(b"event")
            await h2.event(events.DataReceived, stream)
            await h1.reader.readuntil(b"event\r\n")
            ends = [asyncio.ensure_future(call.receive()) for call in (of_h1, of_h2, of_ws)]
            await server.shutdown(0.2)
            assert await ws.read_all() == b"\x88\x02\x03\xf4"  # 1012: restarts
            assert await h1.read_all() == b""  # without the last chunk
            reported = [(await end)["type"] for end in ends]
            assert reported == ["http.disconnect", "http.disconnect", "websocket.disconnect"]
            for call in (of_h1, of_h2, of_ws):  # they did not return, and were cancelled
                assert call.finished.cancelled()


async def test_nothing_is_left_of_a_server() -> None:
    gc.collect()
    before = len(asyncio.all_tasks())
    app = ScriptedApp()
    server = Server(app)
    async with server:
        ((_, port),) = server.addresses
        peers = [await RawClient.connect(port) for _ in range(5)]
        for peer in peers:
            peer.send(GET)
        calls: list[AppCall] = [await app.next() for _ in peers]
        peers[0].send(UPGRADE + b"\r\n")
    assert len(asyncio.all_tasks()) == before
    assert all(call.finished.cancelled() for call in calls)
    for peer in peers:
        assert await peer.read_all() == b""
        peer.abort()
    with pytest.raises(OSError, match="Connect call failed"):
        await RawClient.connect(port)
    gc.collect()  # a socket that was left open would warn


async def test_a_server_can_be_opened_on_a_given_port_and_drained_twice() -> None:
    async with running_server(echo) as (server, port):
        await server.shutdown(0)
        await server.shutdown(0)
        async with Server(echo, "127.0.0.1", port) as again:
            assert again.addresses == [("127.0.0.1", port)]
