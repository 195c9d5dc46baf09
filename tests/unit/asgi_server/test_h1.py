"""HTTP/1.1 as the server speaks it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .raw_clients import RawClient
from .scripted_app import ScriptedApp, echo, running_server

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.requirement("TR-HTTP-26")
async def test_a_request_reaches_the_application_as_it_was_meant() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(
            b"POST /a%20b/%C3%A9?q=1%20 HTTP/1.1\r\nHost: localhost:1\r\nX-Two: A\r\n"
            b"x-two:  b \r\nContent-Length: 3\r\n\r\nabc"
        )
        call = await app.next()
        assert call.scope["type"] == "http"
        assert call.scope["http_version"] == "1.1"
        assert call.scope["method"] == "POST"
        assert call.scope["scheme"] == "http"
        assert call.scope["path"] == "/a b/é"
        assert call.scope["raw_path"] == b"/a%20b/%C3%A9"
        assert call.scope["query_string"] == b"q=1%20"
        assert call.scope["server"] == ("127.0.0.1", port)
        assert call.scope["client"] == peer.writer.get_extra_info("sockname")
        assert call.headers == [
            (b"host", b"localhost:1"),
            (b"x-two", b"A"),
            (b"x-two", b"b"),
            (b"content-length", b"3"),
        ]
        assert await call.body() == b"abc"
        await call.respond(b"yes", 201, [(b"X-Own", b"1"), (b"Content-Length", b"3")])
        status, headers, body = await peer.response()
        assert status == b"HTTP/1.1 201 Created"
        assert headers[b"x-own"] == b"1"
        assert b"gmt" in headers[b"date"]
        assert body == b"yes"


async def test_requests_follow_each_other_on_a_connection_also_when_sent_at_once() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as peer:
        for number in range(3):
            body = b"%d" % number
            peer.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n" + body)
        peer.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        everything = await peer.read_all()
    pieces = everything.split(b"HTTP/1.1 200 OK")[1:]
    assert [piece.split(b"\r\n\r\n", 1)[1] for piece in pieces] == [
        b"1\r\n0\r\n0\r\n\r\n",
        b"1\r\n1\r\n0\r\n\r\n",
        b"1\r\n2\r\n0\r\n\r\n",
        b"0\r\n\r\n",
    ]


async def test_what_is_sent_in_one_turn_leaves_as_one_chunk() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        call = await app.next()
        await call.start()
        for _ in range(100):
            await call.send_chunk(b"ab")
        head = await peer.reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert await peer.reader.readexactly(206) == b"c8\r\n" + b"ab" * 100 + b"\r\n"
        call.end()


async def test_a_body_may_come_in_chunks_and_in_single_bytes() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as peer:
        request = (
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n"
        )
        for byte in request:
            peer.send(bytes([byte]))
            await peer.writer.drain()
        assert (await peer.read_all()).endswith(b"\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")


async def test_a_peer_that_expects_100_continue_gets_it_when_the_application_wants_it() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(
            b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        call = await app.next()
        body = asyncio.create_task(call.body())
        assert await peer.status() == 100
        peer.send(b"hi")
        assert await body == b"hi"
        call.end()


async def test_the_response_to_head_has_no_body() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        await (await app.next()).respond(b"body", headers=[(b"content-length", b"4")])
        everything = await peer.read_all()
    assert b"content-length: 4" in everything.lower()
    assert everything.endswith(b"\r\n\r\n")


async def test_a_response_before_the_end_of_the_body_ends_the_connection() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nab")
        await (await app.next()).respond(b"no", 413, [(b"content-length", b"2")])
        status, headers, body = await peer.response()
        assert status.startswith(b"HTTP/1.1 413 ")  # Pythons call it by different names
        assert body == b"no"
        assert headers[b"connection"] == b"close"
        peer.send(b"x" * 500_000)  # is read and discarded, so that the response arrives
        assert await peer.read_all() == b""


HOST_LINES = {
    "absent": b"",
    "twice": b"Host: a\r\nHost: a\r\n",
    "two": b"Host: a\r\nHost: b\r\n",
    "empty": b"Host: \r\n",
    "user": b"Host: user@a\r\n",
    "path": b"Host: a/b\r\n",
    "spaces": b"Host: a b\r\n",
}
SHAPES = {
    **{f"host {name}": b"GET / HTTP/1.1\r\n" + line for name, line in HOST_LINES.items()},
    "no host in 1.0": b"GET / HTTP/1.0\r\n",
    "length and chunks": (
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    ),
    "two lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n",
    "a length twice": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-length: 4\r\n",
    "a list of lengths": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n",
    "a signed length": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n",
    "a line end without CR": b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n",
    "a CR alone": b"GET / HTTP/1.1\r\nHost: a\rX: y\r\n",
    "a folded line": b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n",
    "a NUL": b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n",
    "no name": b"GET / HTTP/1.1\r\nHost: a\r\n: y\r\n",
    "another host in the target": b"GET http://b/ HTTP/1.1\r\nHost: a\r\n",
    "a target without slash": b"GET x HTTP/1.1\r\nHost: a\r\n",
    "no version": b"GET /\r\nHost: a\r\n",
    "a tunnel": b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n",
}


@pytest.mark.parametrize("head", SHAPES.values(), ids=SHAPES.keys())
async def test_a_request_that_two_readers_could_read_differently_gets_400(head: bytes) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(head + b"\r\n0\r\n\r\n" + GET)
        assert (await peer.read_all()).count(b"HTTP/1.1 400 Bad Request") == 1
    assert app.count == 0


@pytest.mark.parametrize(
    "coding", [b"gzip, chunked", b"identity", b"xchunked", b"chunked\r\nTransfer-Encoding: chunked"]
)
async def test_another_transfer_coding_gets_501(coding: bytes) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + coding + b"\r\n\r\n")
        assert (await peer.read_all()).startswith(b"HTTP/1.1 501 ")
    assert app.count == 0


async def test_another_version_gets_505() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as raw:
        raw.send(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n")
        assert await raw.status() == 505


async def test_lines_that_end_without_cr_get_400_though_their_end_never_comes() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"GET / HTTP/1.1\nHost: a\n\n")
        assert (await peer.read_all()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("size", [b"x\r\n", b"-1\r\n", b"1\r\naX", b"1 \n", b"f" * 30 + b"\r\n"])
async def test_a_malformed_chunk_ends_the_request(size: bytes) -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + size)
        peer.send(b"\r\n" * 3)
        assert (await peer.read_all()).startswith(b"HTTP/1.1 400 ")


async def test_the_target_may_be_the_whole_address_of_the_same_host() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(b"GET http://a:1/x?y HTTP/1.1\r\nHost: a:1\r\n\r\n")
        call = await app.next()
        assert (call.scope["path"], call.scope["query_string"]) == ("/x", b"y")
        call.end()


NARROW: dict[str, Any] = {
    "header_bytes": 4000,
    "header_count": 20,
    "target_bytes": 1000,
    "body_bytes": 1000,
}


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 4000, 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 20 + b"\r\n", 431),
        (b"GET /" + b"x" * 1000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /" + b"x" * 5000, 414),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 413),
    ],
    ids=["header", "count", "target", "line", "length", "chunks"],
)
async def test_what_is_too_long_is_refused_with_its_status(head: bytes, status: int) -> None:
    async with running_server(echo, **NARROW) as (_, port), await RawClient.connect(port) as peer:
        peer.send(head)
        if b"chunked" in head:
            peer.send(b"3e9\r\n" + b"x" * 1001 + b"\r\n")
        assert await peer.status() == status
        assert b"connection: close" in (await peer.read_all()).lower()


async def test_the_limits_themselves_are_allowed() -> None:
    head = b"POST /" + b"x" * 999 + b" HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n"
    head += b"X: y\r\n" * 17 + b"Y: "
    async with running_server(echo, **NARROW) as (_, port), await RawClient.connect(port) as peer:
        peer.send(head + b"z" * (4000 - len(head) - 2) + b"\r\n\r\n" + b"b" * 1000)
        assert await peer.status() == 200


async def test_an_exception_becomes_500_and_its_text_stays_out_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        (await app.next()).end(ValueError("secret"))
        status, _, body = await peer.response()
        assert status == b"HTTP/1.1 500 Internal Server Error"
        assert b"secret" not in body
        peer.send(GET)  # the connection lives
        await (await app.next()).respond(b"", 204)
        assert (await peer.response())[0] == b"HTTP/1.1 204 No Content"
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_an_exception_in_the_middle_leaves_the_response_visibly_unfinished() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        call = await app.next()
        await call.start()
        await call.send_chunk(b"abc")
        await peer.reader.readuntil(b"abc\r\n")
        call.end(ValueError())
        assert await peer.read_all() == b""


async def test_an_application_without_a_response_gets_a_500() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        (await app.next()).end()
        assert await peer.status() == 500


async def test_a_header_that_would_become_two_is_an_error_of_the_application() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        call = await app.next()
        with pytest.raises(ValueError, match="malformed"):
            await call.start(200, [(b"x", b"a\r\nset-cookie: b")])
        call.end()
        assert await peer.status() == 500


async def test_more_than_the_promised_length_ends_the_connection() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as peer:
        peer.send(GET)
        await (await app.next()).respond(b"four", headers=[(b"content-length", b"2")])
        assert b"four" not in await peer.read_all()
