"""A conversation that begins with nonsense: it is refused where it came from."""

from __future__ import annotations

import pytest
from tests.unit.proxy.conducted_chain import (
    ConductedChain,
    FakeComponent,
    answer_initialize,
    pass_initialize,
)
from tests.unit.proxy.proxied_pair import JsonPeer, ProxiedPair, request, result

from parley.proxy import Conductor, Proxy
from parley.transport._base import HIGH_WATER_BYTES

TWICE = [
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","method":"initialize","params":{}}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,'
    b'"protocolVersion":2,"_meta":{"parley":{"depth":3}}}}',
]


@pytest.mark.parametrize("frame", TWICE)
async def test_a_client_whose_initialize_has_a_member_twice_may_try_again(frame: bytes) -> None:
    proxy, agent = FakeComponent(), FakeComponent()
    chained = ConductedChain(Conductor(proxy, agent=agent))
    chained.client.say(frame)
    refused = await chained.client.hear()
    assert (refused["id"], refused["error"]["code"]) == (1, -32600)
    assert not proxy.is_started
    chained.initialize()
    await pass_initialize(proxy)
    await answer_initialize(agent)
    await chained.end()


async def test_a_proxy_refuses_an_initialize_that_has_a_member_twice() -> None:
    talk = ProxiedPair(Proxy("p"))
    talk.client.say(TWICE[0])
    assert (await talk.client.hear())["error"]["code"] == -32600
    assert "result" in await talk.begin()


async def test_a_nested_chain_refuses_params_that_are_no_object() -> None:
    proxy = FakeComponent()
    chained = ConductedChain(Conductor(proxy))
    chained.client.say(request(1, "proxy/initialize", [1]))
    refused = await chained.client.hear()
    assert (refused["id"], refused["error"]["code"]) == (1, -32602)
    assert not chained.task.done()
    await chained.end()


@pytest.mark.parametrize(
    "answer",
    [
        b'{"protocolVersion":2,"info":{"name":"a","version":"1"},'
        b'"capabilities":{"session":{}},"capabilities":{"session":{}}}',
        b'{"protocolVersion":2,"info":{"name":"a","version":"1"},'
        b'"capabilities":{"session":{"mcp":{},"mcp":{}}}}',
        b'{"protocolVersion":0}',
        b'{"protocolVersion":7}',
        b"[]",
    ],
)
async def test_an_agent_whose_answer_cannot_be_used_is_an_error_of_initialize(
    answer: bytes,
) -> None:
    talk = ProxiedPair(Proxy("p"))
    talk.client.say(request("i", "initialize", {"protocolVersion": 7}))
    asked = await talk.agent.hear()
    talk.agent.say(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked["id"], answer))
    refused = await talk.client.hear()
    assert refused["id"] == "i"
    assert "The answer to initialize cannot be used" in refused["error"]["message"]
    talk.client.say(request(2, "_else", {}))
    assert (await talk.agent.hear())["method"] == "_else", "the connection lives"


async def test_who_does_not_read_refusals_before_the_beginning_is_not_read() -> None:
    chained = ConductedChain(Conductor(agent=FakeComponent()))
    assert await _stops_reading(chained.client)
    chained.client.transport.resume_reading()
    chained.initialize()
    await chained.client.until(lambda: chained.client.transport.drained() is None)
    await chained.end()


async def _stops_reading(client: JsonPeer) -> bool:
    """Say what is refused and read nothing; tell whether that is not taken any more."""
    client.transport.pause_reading()
    said = 0
    while client.transport.drained() is None and said < 20 * HIGH_WATER_BYTES:
        frames = [request(number, "_early", {"pad": "x" * 400}) for number in range(100)]
        client.say(*frames)
        said += sum(map(len, frames))
        await client.is_silent()
    return client.transport.drained() is not None


async def test_who_does_not_read_what_is_refused_here_is_not_read() -> None:
    chained = ConductedChain(Conductor(agent=(agent := FakeComponent())))
    chained.initialize()
    await answer_initialize(agent)
    await chained.client.hear()
    client = chained.client
    client.transport.pause_reading()
    said = 0
    while client.transport.drained() is None and said < 20 * HIGH_WATER_BYTES:
        frames = [request(said + number, "proxy/successor", {"x": 1}) for number in range(100)]
        client.say(*frames, b"{no JSON", b"[1]")
        said += 20_000
        await client.is_silent()
    assert client.transport.drained() is not None
    client.transport.resume_reading()
    client.say(request("last", "_passes", {}))
    assert (await agent.hear())["method"] == "_passes"
    agent.say(result(0, {}))
    await chained.end()
