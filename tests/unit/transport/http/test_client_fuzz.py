"""Whatever a server sends, a client goes on, or ends with a reason; it never fails otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.transport.http.raw_socket import TEXT, frame
from websockets.uri import WebSocketURI
from websockets.utils import accept_key

from parley.transport.http._client.h1 import H1Client
from parley.transport.http._client.h2 import H2Client
from parley.transport.http._client.response import Response
from parley.transport.http._client.ws_protocol import WebSocket

PIECES = st.lists(st.integers(1, 50), min_size=1, max_size=10)


class Wire(asyncio.Transport):
    """Takes what is written and does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_over = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.is_over = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_over

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


class User:
    """Uses a WebSocket."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []
        self.ends = 0

    def texts_received(self, texts: list[bytes], /) -> None:
        self.texts += texts

    def binary_received(self, data: bytes, /) -> None:
        pass

    def socket_lost(self, socket: WebSocket, code: int, reason: str, /) -> None:
        self.ends += 1

    def on_writable(self) -> None:
        pass


def feed(protocol: asyncio.Protocol, wire: Wire, stream: bytes, sizes: list[int]) -> None:
    place = count = 0
    while place < len(stream) and not wire.is_over:
        size = sizes[count % len(sizes)]
        protocol.data_received(stream[place : place + size])
        place, count = place + size, count + 1


def mutated(stream: bytes, changes: list[tuple[int, int]]) -> bytes:
    changed = bytearray(stream)
    for place, value in changes:
        changed[place % len(changed)] = value
    return bytes(changed)


CHANGES = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=6)


def h2_responses() -> bytes:
    """Return the bytes of a server's responses to three requests."""
    server = H2Connection(H2Configuration(client_side=False, header_encoding=None))
    client = H2Connection(H2Configuration(client_side=True, header_encoding=None))
    server.initiate_connection()
    client.initiate_connection()
    names = (b":method", b":scheme", b":authority", b":path")
    for stream in (1, 3, 5):
        client.send_headers(stream, [(name, b"x") for name in names], end_stream=True)
    server.receive_data(client.data_to_send())
    for stream in (1, 3, 5):
        server.send_headers(stream, [(b":status", b"200"), (b"x-y", b"z" * 50)])
        server.send_data(stream, b"hello" * 20, end_stream=stream < 5)
    server.ping(b"12345678")
    server.reset_stream(5)
    server.close_connection()
    return server.data_to_send()


RESPONSES = h2_responses()


def run_h2(stream: bytes, sizes: list[int]) -> list[Response]:
    async def run() -> list[Response]:
        wire = Wire()
        client = H2Client(b"http", b"x", on_change=lambda: None)
        client.connection_made(wire)
        responses = [client.send_request(b"GET", b"/", [], b"") for _ in range(3)]
        await asyncio.sleep(0)
        feed(client, wire, stream, sizes)
        client.connection_lost(None)
        return responses

    return asyncio.run(run())


@given(PIECES)
def test_an_honest_server_is_understood_in_any_pieces(sizes: list[int]) -> None:
    responses = run_h2(RESPONSES, sizes)
    assert [each.status for each in responses] == [200] * 3
    assert [each.has_ended for each in responses] == [True, True, False]


@settings(max_examples=300)
@given(CHANGES, PIECES)
def test_http_2_with_mistakes_ends_every_request(
    changes: list[tuple[int, int]], sizes: list[int]
) -> None:
    for response in run_h2(mutated(RESPONSES, changes), sizes):
        assert response.has_ended or response.error is not None


H1 = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n5\r\nhello\r\n"
    b"a;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n"
)


@settings(max_examples=300)
@given(CHANGES, PIECES)
def test_http_1_with_mistakes_ends_the_request(
    changes: list[tuple[int, int]], sizes: list[int]
) -> None:
    async def run() -> Response:
        wire = Wire()
        client = H1Client(b"x", on_change=lambda: None)
        client.connection_made(wire)
        response = client.send_request(b"GET", b"/", [], b"")
        feed(client, wire, mutated(H1, changes), sizes)
        client.eof_received()
        client.connection_lost(None)
        return response

    response = asyncio.run(run())
    assert response.has_ended or response.error is not None


TEXTS = [b"{}", b"." * 200, b"", b'{"a":1}']
FRAMES = b"".join(
    [
        *(frame(TEXT, text) for text in TEXTS),
        *(frame(9, b"ping"), frame(2, b"12345678")),
        *(frame(TEXT, b"fra", is_last=False), frame(0, b"gment"), frame(8, b"\x03\xe8")),
    ]
)


def run_ws(stream: bytes, sizes: list[int], check: Callable[[User, Wire], None]) -> None:
    async def run() -> None:
        user, wire = User(), Wire()
        uri = WebSocketURI(False, "x", 80, "/", "")
        socket = WebSocket(uri, [], user, max_message_bytes=1000)
        socket.connection_made(wire)
        key = wire.written.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0].decode()
        head = "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        response = f"{head}Sec-WebSocket-Accept: {accept_key(key)}\r\n\r\n".encode()
        feed(socket, wire, response + stream, sizes)
        socket.eof_received()
        socket.connection_lost(None)
        check(user, wire)

    asyncio.run(run())


@given(PIECES)
def test_a_rejected_handshake_is_understood_in_any_pieces(sizes: list[int]) -> None:
    async def run() -> None:
        wire = Wire()
        uri = WebSocketURI(False, "x", 80, "/", "")
        socket = WebSocket(uri, [], User(), max_message_bytes=1000)
        socket.connection_made(wire)
        response = (
            b"HTTP/1.1 401 x\r\nContent-Length: 28\r\n\r\n" + b"a valid token\r\n\r\n is needed."
        )
        feed(socket, wire, response, sizes)
        assert socket.handshake_response.done()
        rejected = socket.handshake_response.result()
        assert (rejected.status_code, rejected.body) == (401, b"a valid token\r\n\r\n is needed.")
        socket.connection_lost(None)

    asyncio.run(run())


@given(PIECES)
def test_an_honest_socket_is_understood_in_any_pieces(sizes: list[int]) -> None:
    def check(user: User, wire: Wire) -> None:
        assert user.texts == [*TEXTS, b"fragment"]
        assert user.ends == 1

    run_ws(FRAMES, sizes, check)


@settings(max_examples=300)
@given(CHANGES, PIECES)
def test_a_socket_with_mistakes_ends_once(changes: list[tuple[int, int]], sizes: list[int]) -> None:
    def check(user: User, wire: Wire) -> None:
        assert user.ends == 1

    run_ws(mutated(FRAMES, changes), sizes, check)


@pytest.mark.parametrize("stream", [b"", b"\0" * 100, b"HTTP/1.1 200", b"\xff" * 5000])
def test_noise_is_no_http_2(stream: bytes) -> None:
    assert all(each.error is not None for each in run_h2(stream, [1000]))
