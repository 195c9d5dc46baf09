"""Given any bytes, the server responds or closes: it does not fail, hang or leak anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.asgi_server._asgi_types import Receive, Scope, Send
from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server

from .raw_clients import BINARY, CLOSE, CONT, PING, TEXT, UPGRADE, RawClient, client_frame
from .scripted_app import echo

BOUND_SECONDS = 300.0
LIMITS = ServerLimits(
    header_bytes=4000, body_bytes=20_000, message_bytes=5000, floods=200, streams=20
)
MOST_EXAMPLES = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])


async def _talk(pieces: Iterable[bytes]) -> bytes:
    """Send bytes to a new server, disconnect, and return its output."""
    async with asyncio.timeout(BOUND_SECONDS), Server(echo, limits=LIMITS) as server:
        ((_, port),) = server.addresses
        async with await RawClient.connect(port) as raw:
            reading = asyncio.create_task(raw.read_all())
            try:
                for piece in pieces:
                    raw.send(piece)
                    await raw.writer.drain()
                    await asyncio.sleep(0)
                raw.writer.write_eof()
            except OSError:  # it has hung up already
                pass
            output = await reading
        state = server._state
        assert state is not None
        while state.connections or state.tasks:
            await state.changed.wait()
        return output


@pytest.fixture(autouse=True)
def nothing_fails(caplog: pytest.LogCaptureFixture) -> Iterable[None]:
    yield
    failures = [record for record in caplog.get_records("call") if record.levelno > logging.INFO]
    assert failures == []


def _conversation_h2() -> bytes:
    peer = H2Connection(H2Configuration())
    peer.initiate_connection()
    fields = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")]
    for stream in (1, 3, 5):
        peer.send_headers(stream, [*fields, ("x", "y" * stream)], end_stream=False)
    peer.send_data(1, b"half")
    peer.increment_flow_control_window(100, 1)
    peer.reset_stream(1)
    peer.send_data(3, b"body", end_stream=True)
    peer.ping(b"12345678")
    peer.prioritize(5, weight=10)
    peer.send_data(5, b"more", pad_length=7)
    peer.send_headers(5, [("trailer", "z")], end_stream=True)
    return peer.data_to_send()


H1 = (
    b"POST /p?q HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: x\r\n\r\n"
    b"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nX: y\r\n\r\n"
)
H2 = _conversation_h2()
WS = b"".join(
    [
        UPGRADE + b"\r\n",
        client_frame(TEXT, b"one"),
        client_frame(PING, b"?"),
        client_frame(TEXT, b"\xc3", fin=False),
        client_frame(CONT, b"\xa9"),
        client_frame(BINARY, b"z" * 200),
        client_frame(CLOSE, b"\x03\xe8bye"),
    ]
)


@st.composite
def mutated(draw: st.DrawFn, seed: bytes) -> list[bytes]:
    """Bytes like these, with some changed, left out, put in or said twice, in some pieces."""
    data = bytearray(seed)
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        new = draw(st.one_of(st.binary(max_size=12), st.just(bytes(data[start:end]) * 2)))
        data[start:end] = new
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=4)))
    ends = [*cuts, len(data)]
    return [bytes(data[a:b]) for a, b in zip([0, *cuts], ends, strict=True)]


def _frame(kind: int, flags: int, stream: int, data: bytes = b"") -> bytes:
    return len(data).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + data


REQUEST = b"\x83\x86\x84\x41\x01a"
"""POST, http, /, and the host "a", compressed."""
SENSIBLE = [
    *(_frame(1, flags, stream, REQUEST) for flags in (4, 5) for stream in (1, 3, 5)),
    *(_frame(0, flags, stream, b"body") for flags in (0, 1) for stream in (1, 3, 5)),
    *(_frame(3, 0, stream, bytes(4)) for stream in (1, 3, 5)),
    *(_frame(8, 0, stream, b"\0\0\1\0") for stream in (0, 1, 3)),
    _frame(4, 0, 0, b"\0\4\0\0\0\0"),
    _frame(1, 1, 1, REQUEST[:3]),
    _frame(9, 4, 1, REQUEST[3:]),
]
ANY_FRAME = st.builds(
    _frame,
    st.integers(0, 11),
    st.sampled_from([0, 1, 4, 5, 8, 0x20, 0x25, 0xFF]),
    st.sampled_from([0, 1, 1, 3, 3, 5, 2, 2**31 - 1]),
    st.one_of(
        st.binary(max_size=20),
        st.sampled_from([b"\0\0\0\1", b"\x7f\xff\xff\xff", b"\0\4\0\0\0\0", b"12345678"]),
    ),
)
FRAME = st.one_of(st.sampled_from(SENSIBLE), ANY_FRAME)


def _ws_frame(first: int, size: int, data: bytes, masked: int) -> bytes:
    return bytes([first, size | masked]) + (bytes(4) if masked else b"") + data


WS_FRAME = st.builds(
    _ws_frame,
    st.sampled_from([0x81, 0x01, 0x80, 0x00, 0x82, 0x88, 0x89, 0x8A, 0xC1, 0x83, 0x8F]),
    st.sampled_from([0, 1, 2, 5, 125, 126, 127]),
    st.binary(max_size=8),
    st.sampled_from([0x80, 0x80, 0x80, 0]),
)


@MOST_EXAMPLES
@given(pieces=mutated(H1))
def test_bytes_like_http_1_1(pieces: list[bytes]) -> None:
    asyncio.run(_talk(pieces))


@MOST_EXAMPLES
@given(pieces=mutated(H2))
def test_bytes_like_http_2(pieces: list[bytes]) -> None:
    asyncio.run(_talk(pieces))


@MOST_EXAMPLES
@given(frames=st.lists(FRAME, max_size=30))
def test_any_frames_of_http_2(frames: list[bytes]) -> None:
    output = asyncio.run(_talk([H2[:24] + b"\0\0\0\4\0\0\0\0\0", b"".join(frames)]))
    assert output[3] == 4  # it begins with its settings


@MOST_EXAMPLES
@given(pieces=mutated(WS))
def test_bytes_like_a_websocket(pieces: list[bytes]) -> None:
    asyncio.run(_talk(pieces))


@MOST_EXAMPLES
@given(frames=st.lists(WS_FRAME, max_size=20))
def test_any_frames_of_a_websocket(frames: list[bytes]) -> None:
    output = asyncio.run(_talk([UPGRADE + b"\r\n", b"".join(frames)]))
    assert output.startswith(b"HTTP/1.1 101 ")


@MOST_EXAMPLES
@given(pieces=st.lists(st.binary(max_size=200), max_size=5))
def test_any_bytes(pieces: list[bytes]) -> None:
    asyncio.run(_talk(pieces))


class RecordingApp:
    """An application that keeps what it hears."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[object] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            body = b""
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message["body"]
                if not message["more_body"]:
                    break
            self.received.put_nowait((scope["method"], scope["path"], scope["headers"], body))
            await send({"type": "http.response.start", "status": 204})
            await send({"type": "http.response.body"})
            return
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            self.received.put_nowait(message)
        self.received.put_nowait(message)


async def _heard(pieces: list[bytes], count: int) -> list[object]:
    app = RecordingApp()
    async with asyncio.timeout(BOUND_SECONDS), Server(app, limits=LIMITS) as server:
        ((_, port),) = server.addresses
        async with await RawClient.connect(port) as raw:
            for piece in pieces:
                raw.send(piece)
                await raw.writer.drain()
                await asyncio.sleep(0)
            return [await app.received.get() for _ in range(count)]


@pytest.mark.parametrize(
    ("seed", "count"), [(H1, 3), (H2, 2), (WS, 4)], ids=["HTTP/1.1", "HTTP/2", "WebSocket"]
)
def test_it_reads_the_same_wherever_the_bytes_are_cut(seed: bytes, count: int) -> None:
    whole = asyncio.run(_heard([seed], count))
    for place in range(1, len(seed), 5):
        assert asyncio.run(_heard([seed[:place], seed[place:]], count)) == whole
    assert asyncio.run(_heard([bytes([byte]) for byte in seed], count)) == whole
