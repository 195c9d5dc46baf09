"""Arrays of messages over HTTP, which servers do not take: each message goes by itself."""

from __future__ import annotations

import pytest
from tests.unit.transport.http.counting_agent import encode_notification, encode_request
from tests.unit.transport.http.scripted_agent import ScriptedAgent
from tests.unit.transport.http.scripted_server import (
    ScriptedServer,
    connected_transport,
    serve_http2,
)

from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import serve


def array(*messages: bytes) -> bytes:
    return b"[%b]" % b",".join(messages)


@pytest.mark.requirement("TR-HTTP-14")
async def test_an_array_is_posted_message_by_message_and_in_order() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(array(*(encode_request(number, f"_ask/{number}") for number in range(1, 6))))
        transport.send(array(encode_notification("_note"), encode_request(6, "session/new")))
        await server.until_requested("session/new")
        for number in range(1, 6):
            server.respond("", number)
        server.respond("", 6, sessionId="s-1")
        await server.until_requested("GET s-1")
        await seen.until_frames(7)
    names = [each.name for each in server.requests if each.verb == "POST"]
    assert names[1:] == [*(f"_ask/{number}" for number in range(1, 6)), "_note", "session/new"]
    assert not any(isinstance(each.message, list) for each in server.requests)


@pytest.mark.requirement("TR-HTTP-20")
async def test_the_responses_to_an_array_of_the_agents_name_its_session() -> None:
    server = ScriptedServer()
    async with serve_http2(server) as url, connected_transport(url) as (transport, seen):
        transport.send(encode_request(1, "session/new"))
        await server.until_requested("session/new")
        server.send_event("", array(b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}'))
        await server.until_requested("GET s-1")
        server.send_event("s-1", array(encode_request(11, "_ask"), encode_request(12, "_ask")))
        await seen.until_frames(3)
        responses = (b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id for id in (11, 12))
        transport.send(array(*responses))
        while server.names().count("response") < 2:
            server.changed.clear()
            await server.changed.wait()
    posted = [each for each in server.requests if each.name == "response"]
    assert [each.message["id"] for each in posted] == [11, 12]
    assert [each.headers.get("acp-session-id") for each in posted] == ["s-1", "s-1"]


async def test_our_own_server_takes_the_messages_of_an_array() -> None:
    host = ScriptedAgent()
    async with (
        serve(host, "127.0.0.1:0", access=Access()) as serving,
        connected_transport(serving.url) as (transport, _),
    ):
        transport.send(
            array(
                encode_request(1, "_one"), encode_request(2, "_two"), encode_notification("_three")
            )
        )
        methods = [(await host.last.next())["method"] for _ in range(3)]
        assert methods == ["_one", "_two", "_three"]
