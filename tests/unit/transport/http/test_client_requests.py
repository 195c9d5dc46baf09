"""`HttpConnectionPool`: one server, whichever version of HTTP it speaks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from h2.errors import ErrorCodes
from h2.events import DataReceived, PingReceived, RequestReceived, StreamReset, WindowUpdated
from tests.unit.transport.http.certificate import written
from tests.unit.transport.http.raw_h2 import H2Server, H2Socket
from tests.unit.transport.http.tcp_server import listening_socket, tcp_server

from parley.asgi_server.server import Server
from parley.asgi_server.tls import server_tls
from parley.errors import ConnectFailed, RemoteProtocolError
from parley.transport.http._asgi_types import Receive, Scope, Send
from parley.transport.http._client.address import Address, RemoteOptions
from parley.transport.http._client.connection_pool import HttpConnectionPool
from parley.transport.http._client.response import RequestInterrupted, Response

SETTINGS = b"\0\0\0\x04\0\0\0\0\0"


@asynccontextmanager
async def client_of(
    url: str, options: RemoteOptions | None = None, **more: Any
) -> AsyncGenerator[HttpConnectionPool]:
    client = HttpConnectionPool(Address(url, options or {}), **more)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def talking(
    most_streams: int = 100, **more: Any
) -> AsyncGenerator[tuple[HttpConnectionPool, H2Server, H2Socket]]:
    async with H2Server.open(most_streams) as server, client_of(server.url, **more) as client:
        await client.connect()
        yield client, server, await server.next()


def ask(client: HttpConnectionPool, verb: str = "GET", body: bytes = b"") -> asyncio.Task[Response]:
    return asyncio.create_task(client.request(verb, b"/x", [], body))


async def test_many_requests_share_one_connection() -> None:
    async with talking() as (client, _, socket):
        pending = [ask(client) for _ in range(20)]
        await socket.until(RequestReceived, 20)
        for number in reversed(range(20)):
            socket.respond((await socket.request(number))[0], b"%d" % number)
        responses = [await (await each).read(100) for each in pending]
        assert responses == [b"%d" % number for number in range(20)]
        assert client.http_version == "2"


async def test_a_server_that_allows_no_more_streams_gets_a_further_connection() -> None:
    async with talking(2) as (client, server, socket):
        pending = [ask(client) for _ in range(5)]
        sockets = [socket, await server.next(), await server.next()]
        streams = [
            (each, (await each.request(number))[0])
            for each, requests in zip(sockets, (2, 2, 1), strict=True)
            for number in range(requests)
        ]
        for each, stream in streams:
            each.respond(stream, b"yes")
        assert [await (await each).read(100) for each in pending] == [b"yes"] * 5


async def test_a_long_body_goes_as_far_as_the_windows_allow() -> None:
    body = bytes(range(256)) * 1000
    async with talking() as (client, _, socket):
        pending = ask(client, "POST", body)
        sent = b""
        while len(sent) < len(body):
            pieces = await socket.until(DataReceived, 1)
            socket.events.clear()
            for piece in pieces:
                sent += piece.data
                socket.h2.acknowledge_received_data(piece.flow_controlled_length, piece.stream_id)
            socket.flush()
        assert sent == body
        socket.respond(1)
        assert (await pending).status == 200


async def test_a_response_before_the_whole_body_ends_the_sending() -> None:
    async with talking() as (client, _, socket):
        pending = ask(client, "POST", b"." * 200_000)
        await socket.until(DataReceived, 1)
        socket.respond(1, status=413)
        assert (await pending).status == 413
        await socket.until(StreamReset)
        again = ask(client)
        socket.respond((await socket.request(1))[0])
        assert (await again).status == 200


async def test_room_is_given_back_when_a_piece_was_taken_and_not_before() -> None:
    async with talking() as (client, _, socket):
        pending = ask(client)
        await socket.request()
        socket.respond(1, None)
        response = await pending
        window = socket.h2.local_flow_control_window(1)
        while left := min(window, 16384):
            socket.h2.send_data(1, b"." * left)
            window -= left
        socket.flush()
        await socket_round(client, socket)
        assert not [each for each in socket.events if _is_for_stream(each, 1)]
        async for _ in response.chunks():
            break  # which also ends it
        await socket.until(StreamReset)


def _is_for_stream(event: object, stream: int) -> bool:
    return isinstance(event, WindowUpdated) and event.stream_id == stream


async def socket_round(client: HttpConnectionPool, socket: H2Socket) -> None:
    """Complete another request meanwhile."""
    count = len(await socket.until(RequestReceived))
    pending = ask(client)
    socket.respond((await socket.request(count))[0], b"ok")
    assert await (await pending).read(10) == b"ok"


async def test_who_takes_what_comes_gets_more() -> None:
    total = 0
    async with talking() as (client, _, socket):
        pending = ask(client)
        await socket.request()
        socket.respond(1, None)
        response = await pending
        taking = asyncio.create_task(response.read(10_000_000))
        while total < 3_000_000:
            room = min(socket.h2.local_flow_control_window(1), 16384)
            if room:
                socket.h2.send_data(1, b"." * room)
                total += room
                socket.flush()
            else:
                socket.events.clear()
                await socket.until(WindowUpdated)
        socket.h2.end_stream(1)
        socket.flush()
        assert len(await taking) == total


async def test_who_leaves_resets_the_stream() -> None:
    async with talking() as (client, _, socket):
        waiting = ask(client)
        await socket.request()
        waiting.cancel()
        (reset,) = await socket.until(StreamReset)
        assert reset.error_code == ErrorCodes.CANCEL
        await socket_round(client, socket)


async def test_a_response_that_is_too_long_is_refused() -> None:
    async with talking() as (client, _, socket):
        pending = ask(client)
        await socket.request()
        socket.respond(1, b"." * 1000)
        with pytest.raises(RemoteProtocolError, match="longer than 999"):
            await (await pending).read(999)


async def test_a_head_that_is_too_long_ends_the_connection() -> None:
    async with talking() as (client, _, socket):
        pending = ask(client)
        await socket.request()
        fields = [(":status", "200"), *((f"x-{n}", "." * 1000) for n in range(100))]
        socket.h2.send_headers(1, fields)
        socket.flush()
        with pytest.raises(RequestInterrupted, match="violated the HTTP/2 protocol"):
            await pending


async def test_a_response_without_a_status_fails_the_request_alone() -> None:
    async with talking() as (client, _, socket):
        socket.h2.config.validate_outbound_headers = False
        pending = ask(client)
        await socket.request()
        socket.h2.send_headers(1, [("x", "y")])
        socket.flush()
        with pytest.raises(RequestInterrupted, match="without a status"):
            await pending
        await socket_round(client, socket)


async def test_after_a_farewell_what_was_taken_continues_and_the_rest_may_be_repeated() -> None:
    async with talking() as (client, server, socket):
        taken, late = ask(client), ask(client)
        await socket.until(RequestReceived, 2)
        socket.respond(1, None)
        response = await taken
        socket.go_away(1)
        with pytest.raises(RequestInterrupted) as caught:
            await late
        assert caught.value.is_unprocessed
        another = ask(client)
        fresh = await server.next()
        fresh.respond((await fresh.request())[0], b"new")
        assert await (await another).read(10) == b"new"
        socket.h2.send_data(1, b"still here", end_stream=True)
        socket.flush()
        assert await response.read(100) == b"still here"


async def test_a_refused_stream_may_be_repeated_and_another_reset_not() -> None:
    async with talking() as (client, _, socket):
        for number, code in enumerate((ErrorCodes.REFUSED_STREAM, ErrorCodes.INTERNAL_ERROR)):
            pending = ask(client)
            stream, _ = await socket.request(number)
            socket.h2.reset_stream(stream, code)
            socket.flush()
            with pytest.raises(RequestInterrupted, match=code.name) as caught:
                await pending
            assert caught.value.is_unprocessed == (code == ErrorCodes.REFUSED_STREAM)


async def test_a_server_that_gives_no_sign_of_life_is_gone() -> None:
    async with talking(keep_alive_after=0.02) as (client, _, socket):
        pending = ask(client)
        await socket.until(PingReceived, 2)  # to which the library responds
        assert not pending.done()
        socket.is_mute = True
        with pytest.raises(RequestInterrupted, match="does not respond to pings"):
            await pending


async def test_a_lost_connection_fails_what_is_under_way_and_is_made_again() -> None:
    async with talking() as (client, server, socket):
        pending = ask(client)
        await socket.request()
        socket.writer.transport.abort()
        with pytest.raises(RequestInterrupted) as caught:
            await pending
        assert not caught.value.is_unprocessed
        another = ask(client)
        fresh = await server.next()
        fresh.respond((await fresh.request())[0])
        assert (await another).status == 200


@pytest.mark.parametrize("response", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"what?\r\n"])
async def test_a_server_that_does_not_know_http_2_is_asked_again_in_http_1(response: bytes) -> None:
    heads: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not (head := await reader.readuntil(b"\r\n\r\n")).startswith(b"PRI"):
            heads.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.write(response)

    async with tcp_server(connected) as port, client_of(f"http://127.0.0.1:{port}") as client:
        for _ in range(3):
            assert await (await client.request("POST", b"/x", [], b"")).read(10) == b"ok"
        assert client.http_version == "1.1"
    assert len(heads) == 3
    assert b"content-length: 0" in heads[0].lower()


async def test_a_server_that_stays_silent_in_http_2_gets_the_request_in_http_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.transport.http._client.connection_pool._DETECT_TIMEOUT", 0.01)
    heads: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not (head := await reader.readuntil(b"\r\n\r\n")).startswith(b"PRI"):
            heads.append(head.partition(b"\r\n")[0])
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read()

    async with tcp_server(connected) as port, client_of(f"http://127.0.0.1:{port}") as client:
        for _ in range(2):
            assert await (await client.request("POST", b"/x", [], b"")).read(10) == b"ok"
        assert client.http_version == "1.1"
    assert heads == [b"POST /x HTTP/1.1"] * 2


async def test_a_server_that_speaks_nothing_of_ours_is_reported() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        await reader.read()

    async with tcp_server(connected) as port, client_of(f"http://127.0.0.1:{port}") as client:
        with pytest.raises((RequestInterrupted, ConnectFailed), match=r"HTTP|hangs up"):
            await client.request("GET", b"/x", [])


async def test_nobody_there_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    async with client_of(f"http://127.0.0.1:{port}/acp?key=s3cret") as client:
        with pytest.raises(ConnectFailed, match="connection refused") as caught:
            await client.connect()
        assert "s3cret" not in str(caught.value)


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    body = scope["http_version"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.requirement("TR-HTTP-03")
async def test_tls_agrees_on_http_2_and_checks_the_certificate(tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    async with Server(who, tls=server_tls(certificate, key)) as server:
        url = f"https://localhost:{server.addresses[0][1]}"
        async with client_of(url, {"ca_file": certificate}) as client:
            assert await (await client.request("GET", b"/", [])).read(10) == b"2"
        async with client_of(url) as stranger:
            with pytest.raises(ConnectFailed, match=r"is not trusted.*ca_file="):
                await stranger.connect()
        other = url.replace("localhost", "127.1")  # the same machine
        async with client_of(other, {"ca_file": certificate}) as stranger:
            with pytest.raises(ConnectFailed, match=r"not valid for '127\.1'$"):
                await stranger.connect()


async def test_tls_where_there_is_none_is_reported_in_plain_words() -> None:
    async with (
        Server(who) as server,
        client_of(f"https://127.0.0.1:{server.addresses[0][1]}") as client,
    ):
        with pytest.raises(ConnectFailed, match="the server does not use TLS; try http://"):
            await client.connect()


async def test_closing_awaits_an_attempt_to_connect() -> None:
    with listening_socket() as silent:
        port = silent.getsockname()[1]
        pool = HttpConnectionPool(Address(f"http://127.0.0.1:{port}", {}))
        connecting = asyncio.create_task(pool.connect())
        await asyncio.sleep(0)
        connecting.cancel()
        with suppress(asyncio.CancelledError):
            await connecting
        assert len(asyncio.all_tasks()) == 2
        await pool.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}
