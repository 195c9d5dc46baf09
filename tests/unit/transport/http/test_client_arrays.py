"""Arrays of messages over HTTP, which servers do not take: each message goes by itself."""

from __future__ import annotations

import pytest
from tests.unit.transport.http.hosts import Host
from tests.unit.transport.http.numbers import call, note
from tests.unit.transport.http.plain_server import PlainServer, connected, served

from parley.transport.http.app.access import Access
from parley.transport.http.app.serving import serve


def array(*messages: bytes) -> bytes:
    return b"[%b]" % b",".join(messages)


@pytest.mark.requirement("TR-HTTP-14")
async def test_an_array_is_posted_message_by_message_and_in_order() -> None:
    server = PlainServer()
    async with served(server) as url, connected(url) as (transport, seen):
        transport.send(array(*(call(number, f"_ask/{number}") for number in range(1, 6))))
        transport.send(array(note("_note"), call(6, "session/new")))
        await server.until("session/new")
        for number in range(1, 6):
            server.answer("", number)
        server.answer("", 6, sessionId="s-1")
        await server.until("GET s-1")
        await seen.until_frames(7)
    names = [each.name for each in server.asked if each.verb == "POST"]
    assert names[1:] == [*(f"_ask/{number}" for number in range(1, 6)), "_note", "session/new"]
    assert not any(isinstance(each.message, list) for each in server.asked)


@pytest.mark.requirement("TR-HTTP-20")
async def test_the_answers_to_an_array_of_the_agents_name_its_session() -> None:
    server = PlainServer()
    async with served(server) as url, connected(url) as (transport, seen):
        transport.send(call(1, "session/new"))
        await server.until("session/new")
        server.say("", array(b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1"}}'))
        await server.until("GET s-1")
        server.say("s-1", array(call(11, "_ask"), call(12, "_ask")))
        await seen.until_frames(3)
        answers = (b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id for id in (11, 12))
        transport.send(array(*answers))
        while server.names().count("answer") < 2:
            server.changed.clear()
            await server.changed.wait()
    answered = [each for each in server.asked if each.name == "answer"]
    assert [each.message["id"] for each in answered] == [11, 12]
    assert [each.headers.get("acp-session-id") for each in answered] == ["s-1", "s-1"]


async def test_our_own_server_takes_the_messages_of_an_array() -> None:
    host = Host()
    async with (
        serve(host, "127.0.0.1:0", access=Access()) as serving,
        connected(serving.url) as (transport, _),
    ):
        transport.send(array(call(1, "_one"), call(2, "_two"), note("_three")))
        methods = [(await host.last.next())["method"] for _ in range(3)]
        assert methods == ["_one", "_two", "_three"]
