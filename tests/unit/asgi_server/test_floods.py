"""Peers that keep the server busy for nothing, or hold on to what they do not use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from h2 import events
from h2.errors import ErrorCodes

from parley.asgi_server._h2_codec import PREFACE, ServerCodec
from parley.asgi_server.limits import ServerLimits

from .raw_clients import RawClient, RawH2Client
from .scripted_app import AppCall, ScriptedApp, echo, running_server

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING = 0, 1, 2, 3, 4, 6
WINDOW_UPDATE, CONTINUATION, UNKNOWN = 8, 9, 99
ACK = END_STREAM = 1
END_HEADERS = 4


def _rapid_resets(peer: RawH2Client) -> None:
    stream = peer.open()
    peer.codec.reset_stream(stream)
    peer.flush()


def _malformed_requests(peer: RawH2Client) -> None:
    peer.open(headers=[(b"Upper", b"x")])


def _overflown_windows(peer: RawH2Client) -> None:
    stream = peer.open()
    peer.frame(WINDOW_UPDATE, 0, stream, (2**31 - 1).to_bytes(4, "big"))


FLOODS: dict[str, Callable[[RawH2Client], None]] = {
    "resets": _rapid_resets,
    "malformed requests": _malformed_requests,
    "windows that make us reset": _overflown_windows,
    "pings": lambda peer: peer.frame(PING, 0, 0, b"12345678"),
    "acks of pings that were not sent": lambda peer: peer.frame(PING, ACK, 0, b"12345678"),
    "settings": lambda peer: peer.frame(SETTINGS, 0, 0, b"\0\4\0\0\1\0"),
    "empty settings": lambda peer: peer.frame(SETTINGS, 0, 0),
    "acknowledged settings": lambda peer: peer.frame(SETTINGS, ACK, 0),
    "priorities": lambda peer: peer.frame(PRIORITY, 0, 1, b"\0\0\0\0\1"),
    "frames of an unknown kind": lambda peer: peer.frame(UNKNOWN, 0, 0, b"x"),
    "windows": lambda peer: peer.frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1"),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_of_frames_that_do_nothing_ends_the_connection(
    flood: Callable[[RawH2Client], None],
) -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"floods": 50, "floods_per_second": 0.0}
    async with (
        running_server(app, **limits) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        for _ in range(60):
            flood(peer)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM
        assert app.count <= 51
        async with await RawH2Client.connect(port) as other:  # nobody else notices
            other.open()
            await _until_healthy(app)


async def test_as_many_useless_frames_as_allowed_do_no_harm() -> None:
    limits: dict[str, Any] = {"floods": 50, "floods_per_second": 0.0}
    async with running_server(echo, **limits) as (_, port), await RawH2Client.connect(port) as peer:
        for _ in range(40):
            peer.frame(PING, 0, 0, b"12345678")
        assert (await peer.response(peer.open()))[0] == 200


async def test_empty_frames_of_data_that_end_nothing_are_a_flood() -> None:
    limits: dict[str, Any] = {"floods": 50, "floods_per_second": 0.0}
    async with running_server(echo, **limits) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open(b"POST", body=b"")
        for _ in range(60):
            peer.frame(DATA, 0, stream)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


async def test_windows_that_answer_what_was_sent_are_none() -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"floods": 10, "floods_per_second": 0.0}
    async with (
        running_server(app, **limits) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        stream = peer.open()
        call = await app.next()
        await call.start()
        for _ in range(200):
            await call.send_chunk(b"event")
            await peer.event(events.DataReceived, stream)
            peer.increment_window(stream, 5)
        await call.send_chunk(b"", more=False)
        call.end()
        await peer.event(events.StreamEnded, stream)


async def test_a_head_in_endless_pieces_ends_the_connection() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.frame(HEADERS, END_STREAM, 1, b"\x82")
        for _ in range(100):
            peer.frame(CONTINUATION, 0, 1, b"")
        assert await peer.closed() == ErrorCodes.PROTOCOL_ERROR


def _settings(*ids: int) -> bytes:
    return b"".join(id.to_bytes(2, "big") + b"\0\0\1\0" for id in ids)


@pytest.mark.requirement("SAFE-LIVE-06")
@pytest.mark.parametrize("ids", [range(1000, 3700), [3] * 2700], ids=["different", "same"])
async def test_a_settings_frame_with_thousands_of_entries_ends_the_connection(
    ids: Sequence[int],
) -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.frame(SETTINGS, 0, 0, _settings(*ids))
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


@pytest.mark.requirement("SAFE-LIVE-06")
def test_unknown_settings_are_not_kept() -> None:
    codec = ServerCodec(ServerLimits())
    codec.receive_data(PREFACE)
    kept = len(codec.remote_settings)
    for start in range(1000, 60_000, 60):
        body = _settings(*range(start, start + 60))
        codec.receive_data(len(body).to_bytes(3, "big") + b"\4\0\0\0\0\0" + body)
    assert len(codec.remote_settings) == kept


@pytest.mark.requirement("SAFE-LIVE-06")
def test_a_peer_can_shrink_the_table_of_the_header_encoder_but_not_enlarge_it() -> None:
    codec = ServerCodec(ServerLimits())
    codec.receive_data(PREFACE)
    for size, allowed in ((2**32 - 1, 4096), (100, 100), (1_000_000, 4096)):
        body = b"\0\1" + size.to_bytes(4, "big")
        codec.receive_data(len(body).to_bytes(3, "big") + b"\4\0\0\0\0\0" + body)
        assert codec.encoder.header_table_size == allowed


async def test_a_frame_that_is_too_long_ends_the_connection_before_it_has_come() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.flush()
        peer.raw.send(b"\xff\xff\xff\0\0\0\0\0\1" + b"a" * 64 * 1024)
        assert await peer.closed() == ErrorCodes.FRAME_SIZE_ERROR


async def test_a_refused_request_that_is_reset_at_once_costs_nobody_the_connection() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.codec.send_headers(
            1,
            [
                (b":method", b"GET"),
                (b":scheme", b"http"),
                (b":authority", b"a b"),
                (b":path", b"/"),
            ],
            end_stream=True,
        )
        peer.codec.reset_stream(1)
        peer.flush()  # both in one piece
        assert (await peer.response(peer.open()))[0] == 200


async def test_a_window_of_nothing_ends_the_connection() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\0")
        assert await peer.closed() == ErrorCodes.PROTOCOL_ERROR


async def test_a_small_block_that_unpacks_to_a_large_head_ends_the_connection() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        entry = b"\x40\x01x\x7f\xa1\x1e" + b"y" * 4000  # a field of 4,000 bytes, to be remembered
        peer.frame(HEADERS, END_STREAM | END_HEADERS, 1, entry + b"\xbe" * 200)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


async def test_data_for_a_stream_that_is_closed_is_a_flood() -> None:
    limits: dict[str, Any] = {"floods": 50, "floods_per_second": 0.0}
    async with running_server(echo, **limits) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open()
        peer.codec.reset_stream(stream)
        for _ in range(100):  # the server resets each
            peer.frame(DATA, 0, stream)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


async def test_what_a_peer_makes_us_say_and_does_not_read_is_bounded() -> None:
    limits: dict[str, Any] = {"control_bytes": 200_000, "floods": 10_000_000}
    async with running_server(echo, **limits) as (_, port), await RawClient.slow(port) as raw:
        peer = RawH2Client(raw, 65535)
        peer.flush()
        frame = b"\0\0\x08" + bytes([PING, 0]) + bytes(4) + b"12345678"
        with pytest.raises(ConnectionError):
            await _send_for_ever(raw, frame * 1000)


async def test_a_head_that_comes_too_slowly_gets_408() -> None:
    async with (
        running_server(echo, head_timeout=0.05) as (_, port),
        await RawClient.connect(port) as peer,
    ):
        peer.send(b"GET / HTTP/1.1\r\nHos")
        assert (await peer.read_all()).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_that_never_says_anything_is_closed() -> None:
    async with running_server(echo, head_timeout=0.05) as (_, port):
        async with await RawClient.connect(port) as peer:
            assert await peer.read_all() == b""
        async with await RawClient.connect(port) as peer:
            peer.send(b"PRI * HT")
            assert await peer.read_all() == b""


async def test_an_idle_connection_is_closed_but_not_one_that_waits_for_a_response() -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"idle_timeout": 0.1, "head_timeout": 0.1}
    async with (
        running_server(app, **limits) as (_, port),
        await RawClient.connect(port) as waiting,
        await RawClient.connect(port) as idle,
        await RawH2Client.connect(port) as idle_h2,
    ):
        waiting.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        waits = await app.next()
        idle.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await (await app.next()).respond(b"", 204)
        await idle.response()
        assert await idle.read_all() == b""
        assert await idle_h2.closed() == ErrorCodes.NO_ERROR
        await waits.respond(b"", 204)
        assert (await waiting.response())[0] == b"HTTP/1.1 204 No Content"


async def test_pings_do_not_keep_a_connection_that_is_not_used() -> None:
    limits: dict[str, Any] = {"idle_timeout": 0.2, "floods": 10_000_000}
    async with running_server(echo, **limits) as (_, port), await RawH2Client.connect(port) as peer:

        async def ping() -> None:
            while True:
                peer.frame(PING, 0, 0, b"12345678")
                await peer.event(events.PingAckReceived)

        with pytest.raises(ConnectionResetError, match="closed before"):
            await ping()


async def test_the_head_of_a_request_is_bounded_before_it_is_whole() -> None:
    async with (
        running_server(echo, header_bytes=32 * 1024) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        peer.frame(HEADERS, END_STREAM, 1, b"\0" * 16_000)
        for _ in range(2):
            peer.frame(CONTINUATION, 0, 1, b"\0" * 16_000)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


async def test_the_head_of_a_request_that_stops_coming_is_not_waited_for() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, head_timeout=0.05) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        peer.open()
        call = await app.next()
        await peer.event(events.RemoteSettingsChanged)  # whose ack must not come in between
        await peer.event(events.SettingsAcknowledged)
        peer.frame(HEADERS, END_STREAM, 3, b"\x82")
        assert await peer.closed() == ErrorCodes.NO_ERROR
        call.end()


@pytest.mark.parametrize("is_h2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
async def test_a_body_that_stops_coming_gets_408(*, is_h2: bool) -> None:
    async with running_server(echo, body_timeout=0.05) as (_, port):
        if is_h2:
            async with await RawH2Client.connect(port) as peer:
                stream = peer.open(b"POST", body=b"")
                assert (await peer.response(stream))[0] == 408
        else:
            async with await RawClient.connect(port) as raw:
                raw.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
                assert await raw.status() == 408


async def test_a_connection_too_many_gets_503_and_the_place_can_be_had_again() -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    async with (
        running_server(echo, connections=2) as (_, port),
        await RawClient.connect(port) as first,
        await RawClient.connect(port) as second,
    ):
        first.send(request)
        second.send(request)
        assert (await first.status(), await second.status()) == (200, 200)
        async with await RawClient.connect(port) as third:
            assert (await third.read_all()).startswith(b"HTTP/1.1 503 ")
        first.writer.close()
        await first.writer.wait_closed()
        status = 503
        while status == 503:
            async with await RawClient.connect(port) as fourth:
                fourth.send(request)
                status = await fourth.status()
        assert status == 200


async def _send_for_ever(raw: RawClient, data: bytes) -> None:
    while True:
        raw.send(data)
        await raw.writer.drain()


async def _until_healthy(app: ScriptedApp) -> None:
    while await _is_gone(call := await app.next()):
        call.end()
    call.end()


async def _is_gone(call: AppCall) -> bool:
    return bool((await call.receive())["type"] == "http.disconnect")
