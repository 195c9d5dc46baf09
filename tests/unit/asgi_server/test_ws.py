"""WebSocket as the server speaks it."""

from __future__ import annotations

import asyncio

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from .raw_clients import (
    BINARY,
    CLOSE,
    CONT,
    PING,
    TEXT,
    UPGRADE,
    RawClient,
    client_frame,
    upgraded_client,
)
from .scripted_app import ScriptedApp, accept_websocket, echo, running_server


@pytest.mark.requirement("TR-WS-01")
async def test_an_upgrade_reaches_the_application_and_its_headers_the_peer() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        opening = connect(
            f"ws://127.0.0.1:{port}/a%20b?q=1",
            subprotocols=[Subprotocol("one"), Subprotocol("two")],
            additional_headers={"X-Own": "1"},
            proxy=None,
        )
        connecting = asyncio.create_task(opening.__aenter__())
        call = await app.next()
        assert call.scope["type"] == "websocket"
        assert call.scope["scheme"] == "ws"
        assert call.scope["path"] == "/a b"
        assert call.scope["query_string"] == b"q=1"
        assert call.scope["subprotocols"] == ["one", "two"]
        assert (b"x-own", b"1") in call.headers
        assert await call.receive() == {"type": "websocket.connect"}
        accept = {"type": "websocket.accept", "subprotocol": "two", "headers": [(b"X-Id", b"7")]}
        await call.send(accept)
        peer = await connecting
        assert peer.subprotocol == "two"
        assert peer.response is not None
        assert peer.response.headers["X-Id"] == "7"
        assert "Sec-WebSocket-Extensions" not in peer.response.headers
        await peer.close(1000, "done")
        end = {"type": "websocket.disconnect", "code": 1000, "reason": "done"}
        assert await call.receive() == end
        call.end()


async def test_text_and_bytes_pass_whole_and_in_order() -> None:
    messages: list[str | bytes] = ["é" * 10, b"\0\xff", "", b"", "x" * 300_000, b"y" * 70_000]
    async with running_server(echo) as (_, port), _client(port) as peer:
        for message in messages:
            await peer.send(message)
        assert [await peer.recv() for _ in messages] == messages


@pytest.mark.requirement("TR-WS-03", "TR-WS-08")
async def test_fragments_are_joined_with_pings_between_them() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            raw.send(client_frame(TEXT, b"\xc3", fin=False) + client_frame(PING, b"!"))
            raw.send(client_frame(CONT, b"\xa9", fin=False) + client_frame(CONT, b"", fin=True))
            assert await call.receive() == {"type": "websocket.receive", "text": "é"}
            assert await raw.reader.readexactly(3) == b"\x8a\x01!"
            call.end()


async def test_bytes_that_come_with_the_upgrade_are_the_first_frames() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as raw:
        raw.send(UPGRADE + b"\r\n" + client_frame(TEXT, b"early"))
        call = await accept_websocket(app)
        assert (await call.receive())["text"] == "early"
        call.end()


WRONG = {
    "too long": (client_frame(TEXT, b"x" * 201), 1009),
    "too long at first sight": (client_frame(BINARY, b"", size=2**40), 1009),
    "too long in fragments": (
        client_frame(TEXT, b"x" * 101, fin=False) + client_frame(CONT, b"x" * 100),
        1009,
    ),
    "no text": (client_frame(TEXT, b"\xff\xfe"), 1007),
    "no text in the end": (client_frame(TEXT, b"\xc3", fin=False) + client_frame(CONT, b"("), 1007),
    "half a surrogate": (client_frame(TEXT, b"\xed\xa0\x80"), 1007),
    "a continuation of nothing": (client_frame(CONT, b"x"), 1002),
    "a message in a message": (
        client_frame(TEXT, b"x", fin=False) + client_frame(TEXT, b"y"),
        1002,
    ),
    "an unknown kind": (client_frame(3, b"x"), 1002),
    "no mask": (b"\x81\x01x", 1002),
    "compressed": (b"\xc1\x81\0\0\0\0x", 1002),
    "a long ping": (client_frame(PING, b"x" * 126), 1002),
    "half a close code": (client_frame(CLOSE, b"\x03"), 1002),
    "a close code of nobody": (client_frame(CLOSE, b"\x03\xee"), 1002),
}


@pytest.mark.parametrize(("data", "code"), WRONG.values(), ids=WRONG.keys())
async def test_what_is_wrong_ends_the_connection_with_its_code(data: bytes, code: int) -> None:
    app = ScriptedApp()
    async with running_server(app, message_bytes=200) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            raw.send(client_frame(TEXT, b"before") + data)
            response = await raw.read_all()
            assert response[0] == 0x88
            assert int.from_bytes(response[2:4], "big") == code
        assert (await call.receive())["text"] == "before"
        end = await call.receive()
        assert (end["type"], end["code"]) == ("websocket.disconnect", code)
        call.end()


async def test_a_message_of_exactly_the_bound_passes() -> None:
    async with running_server(echo, message_bytes=100) as (_, port), _client(port) as peer:
        await peer.send("x" * 100)
        assert await peer.recv() == "x" * 100


async def test_a_flood_of_pings_or_of_empty_fragments_ends_the_connection() -> None:
    async with running_server(echo, floods=50, floods_per_second=0.0) as (_, port):
        floods = (
            client_frame(PING) * 60,
            client_frame(TEXT, fin=False) + client_frame(CONT, fin=False) * 60,
        )
        for flood in floods:
            async with await upgraded_client(port) as raw:
                raw.send(flood)
                assert b"\x88\x02\x03\xf0" in await raw.read_all()  # 1008


@pytest.mark.parametrize("is_text", [False, True])
async def test_the_application_may_refuse_with_a_response_of_its_own(*, is_text: bool) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as raw:
        raw.send(UPGRADE + b"\r\n")
        call = await app.next()
        assert "websocket.http.response" in call.scope["extensions"]
        body = b"no token" if is_text else b""
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"%d" % len(body))]
        start = {"type": "websocket.http.response.start", "status": 401, "headers": headers}
        await call.send(start)
        await call.send({"type": "websocket.http.response.body", "body": body})
        call.end()
        status, fields, text = await raw.response()
        assert status.startswith(b"HTTP/1.1 401")
        assert fields[b"www-authenticate"] == b"bearer"
        assert text == body
        assert await raw.read_all() == b""


async def test_closing_before_accepting_refuses_with_403() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        connecting = asyncio.create_task(_open(port))
        call = await app.next()
        await call.send({"type": "websocket.close"})
        call.end()
        with pytest.raises(InvalidStatus) as refused:
            await connecting
        assert refused.value.response.status_code == 403


async def test_an_exception_is_500_before_the_upgrade_and_1011_after_it() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        connecting = asyncio.create_task(_open(port))
        (await app.next()).end(ValueError("secret"))
        with pytest.raises(InvalidStatus) as refused:
            await connecting
        assert refused.value.response.status_code == 500
        connecting = asyncio.create_task(_open(port))
        (await accept_websocket(app)).end(ValueError("secret"))
        with pytest.raises(ConnectionClosed) as closed:
            await (await connecting).recv()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1011, "")


async def test_the_application_closes_with_its_code_and_waits_for_the_peer_to_agree() -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            await call.send({"type": "websocket.close", "code": 4001, "reason": "why"})
            assert await raw.reader.readexactly(7) == b"\x88\x05\x0f\xa1why"
            with pytest.raises(OSError, match="closed"):
                await call.send({"type": "websocket.send", "text": "late"})
            raw.send(client_frame(TEXT, b"on its way") + client_frame(CLOSE, b"\x0f\xa1"))
            assert await raw.read_all() == b""
        end = {"type": "websocket.disconnect", "code": 4001, "reason": ""}
        assert await call.receive() == end
        call.end()


async def test_a_peer_that_never_agrees_is_left() -> None:
    app = ScriptedApp()
    async with running_server(app, close_timeout=0.05) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        async with await connecting as raw:
            call.end()
            assert await raw.read_all() == b"\x88\x02\x03\xe8"


MALFORMED = {
    "no key": (UPGRADE.replace(b"Sec-WebSocket-Key", b"X-Key"), 400),
    "a short key": (UPGRADE.replace(b"AAAA", b"", 1), 400),
    "no base64": (UPGRADE.replace(b"AAAA", b"!!!!", 1), 400),
    "two keys": (UPGRADE + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", 400),
    "an old version": (UPGRADE.replace(b"13", b"8"), 426),
    "no connection option": (UPGRADE.replace(b"Connection: Upgrade\r\n", b""), 400),
    "a post": (UPGRADE.replace(b"GET", b"POST"), 400),
    "two hosts": (UPGRADE + b"Host: b\r\n", 400),
    "a body": (UPGRADE + b"Content-Length: 1\r\n", 400),
    "chunks": (UPGRADE + b"Transfer-Encoding: chunked\r\n", 400),
    "HTTP/1.0": (UPGRADE.replace(b"HTTP/1.1", b"HTTP/1.0"), 400),
}


@pytest.mark.parametrize(("head", "status"), MALFORMED.values(), ids=MALFORMED.keys())
async def test_a_malformed_upgrade_is_refused_by_the_server(head: bytes, status: int) -> None:
    app = ScriptedApp()
    async with running_server(app) as (_, port), await RawClient.connect(port) as raw:
        raw.send(head + b"\r\n")
        assert await raw.status() == status
    assert app.count == 0


async def test_another_upgrade_is_skipped() -> None:
    async with running_server(echo) as (_, port), await RawClient.connect(port) as raw:
        raw.send(UPGRADE.replace(b"websocket", b"h2c") + b"\r\n")
        assert await raw.status() == 200


def _client(port: int) -> connect:
    return connect(f"ws://127.0.0.1:{port}/", proxy=None, max_size=None)


async def _open(port: int) -> ClientConnection:
    return await _client(port)
