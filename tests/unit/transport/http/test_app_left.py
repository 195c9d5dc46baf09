"""Clients that leave while the agent reads nothing: what waits for it holds nobody's place."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.asgi_server.raw_clients import (
    PING,
    TEXT,
    UPGRADE,
    RawClient,
    client_frame,
    upgraded_client,
)
from tests.unit.asgi_server.scripted_app import ScriptedApp, accept_websocket, running_server

from parley.asgi_server.extensions import ON_DISCONNECT
from parley.transport.http._app import post_inbox as posts
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import INITIALIZE
from .asgi_servers import SERVERS, connected_client
from .scripted_agent import ScriptedAgent, request

SHORT = AppLimits(idle=0.05, grace=0.05)


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("headers", [{}, {"parley_resume": "1"}], ids=["plain", "negotiated"])
async def test_a_post_that_waits_forever_does_not_outlive_its_client(
    monkeypatch: pytest.MonkeyPatch, name: str, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(posts, "_WATCH_AFTER", 0.01)
    host = ScriptedAgent()
    async with connected_client(name, HttpApp(host, limits=SHORT)) as (client, _):
        await client.initialize(**headers)
        host.last.transport.pause_reading()
        numbered = {"parley_message": "1"} if headers else {}
        post = asyncio.create_task(client.post(request(1, "session/list"), **numbered))
        await _until_it_waits(host)
        await client.client.aclose()
        assert "has been disconnected" in str(await host.last.lost)
        await asyncio.wait({post})
        assert post.exception() is not None


@pytest.mark.parametrize("name", ["ours", "uvicorn", "anycorn"])
@pytest.mark.parametrize("resume", [b"", b"Parley-Resume: 1\r\n"], ids=["plain", "negotiated"])
async def test_a_socket_whose_messages_wait_forever_does_not_outlive_its_client(
    name: str, resume: bytes
) -> None:
    host = ScriptedAgent()
    app = HttpApp(host, limits=SHORT)
    async with connected_client(name, app) as (_, port):
        raw = await _socket(port, resume)
        host.last.transport.pause_reading()
        raw.send(_text(request(1, "session/list")) * 3)
        await _until_it_waits(host)
        raw.abort()
        assert "has been disconnected" in str(await host.last.lost)


async def test_what_is_read_ahead_while_the_agent_reads_nothing_arrives_in_its_order() -> None:
    host = ScriptedAgent()
    async with connected_client("uvicorn", HttpApp(host)) as (_, port), await _socket(port) as raw:
        host.last.transport.pause_reading()
        for id in range(20):
            raw.send(_text(request(id, "session/list")))
        await _until_it_waits(host)
        host.last.transport.resume_reading()
        assert [(await host.last.next())["id"] for _ in range(20)] == list(range(20))


async def test_a_peer_that_leaves_while_nothing_is_read_from_it_is_noticed() -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"ping_after": 0.05, "ping_timeout": 0.05, "unread_bytes": 1000}
    async with running_server(app, **limits) as (_, port):
        connecting = asyncio.create_task(upgraded_client(port))
        call = await accept_websocket(app)
        gone = asyncio.Event()
        call.scope["extensions"][ON_DISCONNECT](gone.set)
        raw = await connecting
        raw.send(client_frame(TEXT, b"a" * 100) * 100)  # which nobody takes
        await raw.writer.drain()
        raw.writer.close()
        await gone.wait()
        call.end()


async def test_pings_that_a_peer_sends_and_whose_responses_it_does_not_read_are_bounded() -> None:
    app = ScriptedApp()
    limits: dict[str, Any] = {"control_bytes": 200_000, "floods": 10_000_000}
    async with (
        running_server(app, **limits) as (_, port),
        await RawClient.slow(port) as raw,
    ):
        raw.send(UPGRADE + b"\r\n")
        call = await accept_websocket(app)
        with pytest.raises(ConnectionError):
            await _send_for_ever(raw, client_frame(PING, b"a" * 100) * 1000)
        call.end()


async def _socket(port: int, headers: bytes = b"") -> RawClient:
    """A WebSocket that is initialized."""
    raw = await RawClient.connect(port)
    head = UPGRADE.replace(b"/ws", b"/acp").replace(b"Host: a", b"Host: localhost")
    raw.send(head + headers + b"\r\n")
    assert await raw.status() == 101
    await raw.reader.readuntil(b"\r\n\r\n")
    raw.send(_text(INITIALIZE))
    await raw.reader.readuntil(b'"protocolVersion"')
    return raw


async def _until_it_waits(host: ScriptedAgent) -> None:
    while not host.last.transport._inbox:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)


async def _send_for_ever(raw: RawClient, data: bytes) -> None:
    while True:
        raw.send(data)
        await raw.writer.drain()


def _text(message: object) -> bytes:
    data = json.dumps(message).encode()
    assert len(data) < 126, "a longer one has another head"
    return bytes([0x81, 0x80 | len(data)]) + bytes(4) + data
