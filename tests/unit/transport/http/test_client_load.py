"""`HttpTransport` loads sessions from servers that disagree about how one is named."""

from __future__ import annotations

import json

import pytest
from tests.unit.transport.http.counting_agent import encode_request
from tests.unit.transport.http.scripted_server import (
    ReceivedRequest,
    Reply,
    ScriptedServer,
    connected_transport,
    serve_http2,
)

UNKNOWN: Reply = (404, [], b"Unknown session id")


@pytest.mark.requirement("TR-HTTP-18")
async def test_a_server_that_knows_no_session_before_it_is_loaded_does_not_get_its_id() -> None:
    server = ScriptedServer()

    async def post(request: ReceivedRequest) -> Reply | None:
        return UNKNOWN if "acp-session-id" in request.headers else None

    server.post = post
    server.get = lambda request: UNKNOWN if "acp-session-id" in request.headers else None
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/load", sessionId="s-1"))
        while server.names().count("session/load") < 2:
            server.changed.clear()
            await server.changed.wait()
        server.get = None
        server.respond("", 1)
        await server.until_requested("GET s-1")
        assert json.loads((await seen.until_frames(2))[1])["id"] == 1
    loads = [each for each in server.requests if each.name == "session/load"]
    assert ["acp-session-id" in each.headers for each in loads] == [True, False]


async def test_a_server_that_knows_no_connection_is_asked_twice_and_no_more() -> None:
    server = ScriptedServer()

    async def post(request: ReceivedRequest) -> Reply | None:
        return UNKNOWN

    server.post = post
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/load", sessionId="s-1"))
        assert "404" in await seen.until_lost()
    assert server.names().count("session/load") == 2
