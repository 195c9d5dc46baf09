"""HTTP/2 as the server speaks it: requests, windows, and who waits for whom."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from h2 import events
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from .raw_clients import Fields, RawClient, RawH2Client
from .scripted_app import AppCall, ScriptedApp, echo, running_server


async def test_a_request_reaches_the_application_as_it_was_meant() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        cookies = [(b"cookie", b"a=1"), (b"cookie", b"b=2")]
        stream = peer.open(b"POST", headers=[(b"x", b"y"), *cookies], body=b"abc", path=b"/p?q")
        call = await app.next()
        assert call.scope["http_version"] == "2"
        assert call.scope["method"] == "POST"
        assert call.scope["path"] == "/p"
        assert call.scope["query_string"] == b"q"
        assert call.headers == [(b"host", b"localhost"), (b"x", b"y"), (b"cookie", b"a=1; b=2")]
        assert await call.body() == b"abc"
        headers = [(b"X-Own", b"1"), (b"Connection", b"keep-alive")]
        await call.respond(b"yes", 201, headers)
        status, fields, body = await peer.response(stream)
        assert (status, fields[b"x-own"], body) == (201, b"1", b"yes")
        assert b"date" in fields
        assert b"connection" not in fields


async def test_the_limits_are_sent_to_the_peer() -> None:
    async with (
        running_server(echo, header_bytes=5000) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        reported = (await peer.event(events.RemoteSettingsChanged)).changed_settings
        assert reported[SettingCodes.MAX_CONCURRENT_STREAMS].new_value == 1024
        assert reported[SettingCodes.MAX_HEADER_LIST_SIZE].new_value == 5000


async def test_many_requests_run_at_once_and_one_connection_takes_any_number() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        for _ in range(8):
            streams = {peer.open(b"POST", body=b"%d" % number): number for number in range(200)}
            for stream, number in streams.items():
                assert (await peer.response(stream))[2] == b"%d" % number


async def test_a_stalled_stream_makes_its_sender_wait_and_nobody_else() -> None:
    app = ScriptedApp()
    async with (
        running_server(app) as (_, port),
        await RawH2Client.connect(port, window=1000) as peer,
    ):
        peer.open()
        stalled = await app.next()
        taken = await _send_until_it_waits(stalled)
        assert taken <= 1000 + 64 * 1024 + 16 * 1024
        sibling = peer.open()
        await (await app.next()).respond(b"free")
        assert (await peer.response(sibling))[2] == b"free"
        stalled.end()


async def test_a_stalled_stream_continues_exactly_where_it_was_when_its_window_opens() -> None:
    app = ScriptedApp()
    data = bytes(range(256)) * 1000
    async with (
        running_server(app) as (_, port),
        await RawH2Client.connect(port, window=10) as peer,
    ):
        stream = peer.open()
        call = await app.next()
        responding = asyncio.create_task(call.respond(data))
        body = b""
        while len(body) < len(data):
            piece = (await peer.event(events.DataReceived, stream)).data or b""
            body += piece
            peer.increment_window(stream, min(len(piece) * 2, 50_000))
        assert body == data
        await responding


async def test_the_window_of_the_connection_is_shared_by_turns() -> None:
    app = ScriptedApp()
    async with (
        running_server(app) as (_, port),
        await RawH2Client.connect(port, window=2**20) as peer,
    ):
        streams = [peer.open() for _ in range(4)]
        calls = [await app.next() for _ in streams]
        responses = [asyncio.create_task(call.respond(b"x" * 200_000)) for call in calls]
        received = dict.fromkeys(streams, 0)
        while min(received.values()) < 100_000:
            event = await peer.event(events.DataReceived)
            received[event.stream_id or 0] += len(event.data or b"")
            peer.codec.increment_flow_control_window(event.flow_controlled_length or 0)
            peer.flush()
            assert max(received.values()) - min(received.values()) <= 80_000
        for response in responses:
            response.cancel()


async def test_a_change_of_the_initial_window_lets_stalled_streams_continue() -> None:
    app = ScriptedApp()
    async with (
        running_server(app) as (_, port),
        await RawH2Client.connect(port, window=0) as peer,
    ):
        stream = peer.open()
        await (await app.next()).respond(b"late")
        await peer.event(events.ResponseReceived, stream)
        peer.codec.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100})
        peer.flush()
        assert (await peer.event(events.DataReceived, stream)).data == b"late"


async def test_responses_of_one_turn_leave_in_one_write() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        await peer.event(events.SettingsAcknowledged)
        peer.codec.ping(b"12345678")
        streams = [peer.codec.get_next_available_stream_id() + 2 * n for n in range(20)]
        fields = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b"host", b"a")]
        for stream in streams:
            peer.codec.send_headers(stream, fields, end_stream=True)
        peer.flush()
        await peer.event(events.PingAckReceived)
        await peer.event(events.ResponseReceived)
        responses = [event for event in peer.seen if isinstance(event, events.ResponseReceived)]
        assert len(responses) == 19


async def test_what_is_sent_in_one_turn_leaves_in_one_frame() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open()
        call = await app.next()
        await call.start()
        for _ in range(100):
            await call.send_chunk(b"ab")
        assert (await peer.event(events.DataReceived, stream)).data == b"ab" * 100
        call.end()


async def test_a_body_is_given_window_back_only_as_the_application_takes_it() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, unread_bytes=50_000) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        await peer.event(events.RemoteSettingsChanged)
        stream = peer.open(b"POST", body=b"")
        call = await app.next()
        for _ in range(5):
            peer.codec.send_data(stream, b"x" * 10_000)
        assert peer.codec.local_flow_control_window(stream) == 0
        peer.codec.ping(b"12345678")
        peer.flush()
        await peer.event(events.PingAckReceived)
        assert not [event for event in peer.seen if getattr(event, "stream_id", 0) == stream]
        assert len((await call.receive())["body"]) == 50_000
        assert (await peer.event(events.WindowUpdated, stream)).delta == 50_000
        call.end()


async def test_bytes_that_no_application_takes_do_not_use_up_the_connection() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, unread_bytes=50_000, connection_unread_bytes=65_535) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        await peer.event(events.RemoteSettingsChanged)
        for _ in range(5):
            stream = peer.open(b"POST", body=b"")
            call = await app.next()
            while room := min(peer.codec.local_flow_control_window(stream), 16_384):
                peer.codec.send_data(stream, b"x" * room)
            peer.flush()
            await call.respond(b"enough", 413)
            assert (await peer.response(stream))[0] == 413
            reset = await peer.event(events.StreamReset, stream)
            assert reset.error_code == ErrorCodes.NO_ERROR
            while peer.codec.outbound_flow_control_window < 30_000:
                await peer.event(events.WindowUpdated, 0)


HOSTS: dict[str, tuple[bytes | None, Fields]] = {
    "another": (b"a", [(b"host", b"b")]),
    "neither": (None, []),
    "twice": (b"a", [(b"host", b"a"), (b"host", b"a")]),
    "only the header, twice": (None, [(b"host", b"a"), (b"host", b"a")]),
    "empty": (b"", []),
    "a user": (b"user@a", []),
}


@pytest.mark.parametrize(("authority", "hosts"), HOSTS.values(), ids=HOSTS.keys())
async def test_a_request_that_does_not_name_one_host_gets_400(
    authority: bytes | None, hosts: Fields
) -> None:
    app = ScriptedApp()
    fields = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/")]
    if authority is not None:
        fields.append((b":authority", authority))
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        peer.codec.send_headers(1, [*fields, *hosts], end_stream=True)
        peer.flush()
        assert (await peer.response(1))[0] == 400
        sibling = peer.open()
        await (await app.next()).respond()
        assert (await peer.response(sibling))[0] == 200
    assert app.count == 1


async def test_the_host_may_be_a_header_alone() -> None:
    app = ScriptedApp()
    fields = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b"host", b"a:1")]
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        peer.codec.send_headers(1, fields, end_stream=True)
        peer.flush()
        call = await app.next()
        assert call.headers == [(b"host", b"a:1")]
        call.end()


NOT_REQUESTS: dict[str, Fields] = {
    "a field of HTTP/1.1": [(b"transfer-encoding", b"chunked")],
    "a name with capitals": [(b"X-Upper", b"y")],
    "a line end in a value": [(b"x", b"a\r\nb: c")],
    "a space around a value": [(b"x", b" a")],
    "an unknown pseudo-header": [(b":protocol", b"websocket")],
    "a pseudo-header twice": [(b":path", b"/other")],
    "another te": [(b"te", b"gzip")],
    "a length without body": [(b"content-length", b"3")],
    "an empty name": [(b"", b"y")],
}


@pytest.mark.parametrize("fields", NOT_REQUESTS.values(), ids=NOT_REQUESTS.keys())
async def test_a_malformed_request_is_reset_and_the_others_live(fields: Fields) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open(headers=fields)
        reset = await peer.event(events.StreamReset, stream)
        assert reset.error_code == ErrorCodes.PROTOCOL_ERROR
        sibling = peer.open()
        await (await app.next()).respond()
        assert (await peer.response(sibling))[0] == 200
    assert app.count == 1


async def test_what_is_too_long_is_refused_with_its_status() -> None:
    limits: dict[str, Any] = {"header_count": 20, "target_bytes": 100, "body_bytes": 1000}
    async with running_server(echo, **limits) as (_, port), await RawH2Client.connect(port) as peer:
        many = peer.open(headers=[(b"x", b"y")] * 30)
        assert (await peer.response(many))[0] == 431
        long = peer.open(path=b"/" + b"x" * 100)
        assert (await peer.response(long))[0] == 414
        with_length = peer.open(b"POST", headers=[(b"content-length", b"1001")], body=b"")
        assert (await peer.response(with_length))[0] == 413
        without_length = peer.open(b"POST", body=b"x" * 1001)
        assert (await peer.response(without_length))[0] == 413
        fine = peer.open(b"POST", body=b"x" * 1000)
        assert len((await peer.response(fine))[2]) == 1000


async def test_a_header_list_that_is_too_long_ends_the_connection() -> None:
    async with running_server(echo) as (_, port), await RawH2Client.connect(port) as peer:
        peer.open(headers=[(b"x", b"y" * 8000)] * 9)
        assert await peer.closed() == ErrorCodes.ENHANCE_YOUR_CALM


async def test_a_stream_too_many_is_refused_and_may_come_again() -> None:
    app = ScriptedApp()
    async with (
        running_server(app, streams=2) as (_, port),
        await RawH2Client.connect(port) as peer,
    ):
        first = peer.open()
        peer.open()
        third = peer.open()
        refused = await peer.event(events.StreamReset, third)
        assert refused.error_code == ErrorCodes.REFUSED_STREAM
        await (await app.next()).respond(b"one")
        await peer.response(first)
        fourth = peer.open()
        await app.next()
        await (await app.next()).respond(b"four")
        assert (await peer.response(fourth))[2] == b"four"
    assert app.count == 3


async def test_an_exception_becomes_500_or_a_reset() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open()
        (await app.next()).end(ValueError("secret"))
        assert (await peer.response(stream))[0] == 500
        stream = peer.open()
        call = await app.next()
        await call.start()
        await call.send_chunk(b"begun")
        await peer.event(events.DataReceived, stream)
        call.end(ValueError("secret"))
        reset = await peer.event(events.StreamReset, stream)
        assert reset.error_code == ErrorCodes.INTERNAL_ERROR


@pytest.mark.requirement("TR-HTTP-03")
async def test_the_preface_is_recognised_byte_by_byte() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as raw:
        for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
            raw.send(bytes([byte]))
            await raw.writer.drain()
        assert (await raw.reader.readexactly(9))[3] == 4  # SETTINGS


async def test_the_response_to_head_has_no_body() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawH2Client.connect(port) as peer:
        stream = peer.open(b"HEAD")
        await (await app.next()).respond(b"body", headers=[(b"content-length", b"4")])
        status, headers, body = await peer.response(stream)
        assert (status, headers[b"content-length"], body) == (200, b"4", b"")


async def _send_until_it_waits(call: AppCall) -> int:
    """Send until a send does not return at once."""
    await call.start()
    taken = 0
    while True:
        sending = asyncio.create_task(call.send_chunk(b"x" * 16_384))
        for _ in range(5):
            await asyncio.sleep(0)
        if not sending.done():
            sending.cancel()
            return taken
        taken += 16_384
