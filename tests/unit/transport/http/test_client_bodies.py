"""Responses with unexpected bodies: the client does not wait until they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from tests.unit.transport.http.counting_agent import encode_request
from tests.unit.transport.http.scripted_server import (
    ScriptedServer,
    connected_transport,
    serve_http1,
    serve_http2,
)

from parley.transport.http._asgi_types import (
    Message,
    Receive,
    Scope,
    Send,
)
from parley.transport.http._client import http_errors as refusals
from parley.transport.http._client import post_queue as client_posts

Serve = Callable[[ScriptedServer], AbstractAsyncContextManager[str]]
EVERY_HTTP = pytest.mark.parametrize("serve", [serve_http2, serve_http1])


class Endless(ScriptedServer):
    """Responds to every POST except the first with a body that never ends."""

    def __init__(self, *, status: int = 202, size: int = 0) -> None:
        super().__init__()
        self.status = status
        self.size = size
        self.left = asyncio.Event()
        """A client has ended such a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_first = not self.requests

        async def endless(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send({**message, "status": self.status})
                return
            await send({**message, "body": b"x" * self.size, "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()

        is_endless = scope["method"] == "POST" and not is_first
        await super().__call__(scope, receive, endless if is_endless else send)


@EVERY_HTTP
async def test_a_status_counts_though_its_body_never_ends(serve: Serve) -> None:
    server = Endless()
    async with serve(server) as url, connected_transport(url) as (transport, _):
        for id in range(1, 4):
            transport.send(encode_request(id, f"_vendor/{id}"))
        await server.until_requested("_vendor/1", "_vendor/2", "_vendor/3")


@EVERY_HTTP
async def test_a_response_that_never_ends_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    monkeypatch.setattr(client_posts, "_BODY_TIMEOUT", 0.01)
    server = Endless()
    async with serve(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "_vendor/1"))
        await server.left.wait()
        assert not seen.lost


@EVERY_HTTP
async def test_a_response_that_is_far_too_long_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    monkeypatch.setattr(client_posts, "_BODY_TIMEOUT", 1000.0)
    monkeypatch.setattr(client_posts, "_BODY_GRACE_AFTER", 1000.0)
    server = Endless(size=client_posts._BODY_BYTES + 1)
    async with serve(server) as url, connected_transport(url) as (transport, _):
        transport.send(encode_request(1, "_vendor/1"))
        await server.left.wait()
        transport.send(encode_request(2, "_vendor/2"))
        await server.until_requested("_vendor/2")


async def test_a_refusal_counts_though_its_reasons_never_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusals, "_REASON_TIMEOUT", 0.01)
    server = Endless(status=400, size=3)
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "_vendor/1"))
        refused = json.loads((await seen.until_frames(2))[1])
        assert refused["error"]["data"] == {"status": 400}
        assert refused["error"]["message"].endswith("(400): xxx")


@pytest.mark.parametrize("kind", [b"text/html; charset=utf-8", b""])
async def test_what_is_no_stream_of_events_is_not_taken_for_one(kind: bytes) -> None:
    server = ScriptedServer()
    server.get = lambda request: (200, [(b"content-type", kind)] if kind else [], b"data: {}\n\n")
    async with serve_http2(server) as url, connected_transport(url) as (_, seen):
        lost = await seen.until_lost()
        assert f"is {kind.decode()!r}, not text/event-stream" in lost
        assert len(seen.frames) == 1
