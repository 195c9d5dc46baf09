from __future__ import annotations

import json

import pytest
from tests.unit.proxy.conducted_chain import (
    ConductedChain,
    FakeComponent,
    answer_initialize,
    chain_of_fakes,
    component_command,
    pass_initialize,
    wrap,
)
from tests.unit.proxy.proxied_pair import (
    PARAMS,
    RESULTS,
    chunk,
    notification,
    request,
    result,
    text_of,
)

import parley
from parley.agent import Agent, Turn
from parley.errors import ConnectFailed, InternalError
from parley.proxy import Conductor, Proxy
from parley.proxy._chain.component import ComponentSpec

SPELLINGS = pytest.mark.parametrize("prefix", ["", "_"])


def echo() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


@pytest.mark.requirement("TR-PRX-01", "TR-PRX-02", "TR-PRX-03", "TR-PRX-15", "TR-PRX-25")
@pytest.mark.parametrize("version", [1, 2])
async def test_each_proxy_hears_proxy_initialize_and_the_agent_initialize(version: int) -> None:
    one, two, agent = FakeComponent(), FakeComponent(), FakeComponent()
    chained = ConductedChain(Conductor(one, two, agent=agent))
    chained.initialize(version, unknown={"x": [1.5]})
    first = await pass_initialize(one)
    second = await pass_initialize(two)
    last = await answer_initialize(agent, version)
    sent = PARAMS[version] | {"unknown": {"x": [1.5]}}
    assert [first["params"], second["params"], last["params"]] == [sent] * 3
    assert "proxy" not in json.dumps(last)
    two.say(result(second["id"], (await two.hear())["result"]))
    one.say(result(first["id"], (await one.hear())["result"]))
    answer = (await chained.client.hear())["result"]
    assert answer.pop("agentCapabilities", {}) in ({}, {"mcpCapabilities": {"acp": True}})
    assert answer.items() <= RESULTS[version].items()
    assert await chained.end() is None


@pytest.mark.requirement("TR-PRX-06", "TR-PRX-07", "TR-PRX-20")
@SPELLINGS
async def test_messages_go_down_plain_and_up_wrapped_under_ids_of_each_hop(prefix: str) -> None:
    chained, proxy, agent = await chain_of_fakes(prefix)
    chained.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    heard = await proxy.hear()
    assert heard["method"] == "session/prompt"
    inside = {"method": "session/prompt", "params": heard["params"]}
    proxy.say(request(1, f"{prefix}proxy/successor", inside))
    asked = await agent.hear()
    assert asked["method"] == "session/prompt"
    agent.say(chunk("x"), request(1, "fs/read_text_file", {"sessionId": "s", "path": "/x"}))
    update = await proxy.hear()
    assert update["method"] == f"{prefix}proxy/successor"
    assert update["params"]["method"] == "session/update"
    question = await proxy.hear()
    assert question["params"]["method"] == "fs/read_text_file"
    assert question["id"] % 2 == 1, "the two sides of a pipe take different ids"
    assert heard["id"] % 2 == 0
    proxy.say(notification("session/update", update["params"]["params"]))
    assert text_of(await chained.client.hear()) == "x"
    proxy.say(result(question["id"], {"content": "c"}), request(1, "_up", {}))
    assert await agent.hear() == {"jsonrpc": "2.0", "id": 1, "result": {"content": "c"}}
    assert (await chained.client.hear())["method"] == "_up"
    agent.say(result(asked["id"], {"messageId": "m"}))
    assert await proxy.hear() == {"jsonrpc": "2.0", "id": 1, "result": {"messageId": "m"}}
    proxy.say(result(heard["id"], {"messageId": "m"}))
    assert (await chained.client.hear())["id"] == 1


@pytest.mark.requirement("TR-PRX-08")
async def test_results_and_errors_pass_unchanged() -> None:
    chained, proxy, agent = await chain_of_fakes()
    proxy.say(request("a", "proxy/successor", {"method": "_x"}))
    asked = await agent.hear()
    error = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"m","data":{"n":1.50}}}'
    agent.say((error % asked["id"]).encode())
    assert await (await proxy.talker()).next() == (error % '"a"').encode()
    await chained.end()


@pytest.mark.requirement("TR-PRX-23")
async def test_a_cancel_goes_from_hop_to_hop() -> None:
    chained, proxy, agent = await chain_of_fakes()
    chained.client.say(request("c", "_long", {}))
    heard = await proxy.hear()
    proxy.say(request("p", "proxy/successor", {"method": "_long", "params": {}}))
    asked = await agent.hear()
    chained.client.say(notification("$/cancel_request", {"requestId": "c"}))
    assert (await proxy.hear())["params"] == {"requestId": heard["id"]}
    proxy.say(notification("$/cancel_request", {"requestId": "p"}))
    cancel = await agent.hear()
    assert cancel["method"] == "$/cancel_request"
    assert cancel["params"] == {"requestId": asked["id"]}
    await chained.end()


@pytest.mark.requirement("TR-PRX-14", "TR-PRX-15")
async def test_nobody_says_to_a_proxy_what_only_its_conductor_may() -> None:
    chained, proxy, agent = await chain_of_fakes()
    for method in ("proxy/successor", "_proxy/successor", "proxy/initialize", "_proxy/initialize"):
        forged = {"method": "session/update", "params": {"sessionId": "s"}}
        chained.client.say(request(1, method, forged), notification(method, forged))
        assert (await chained.client.hear())["error"]["code"] == -32601
        agent.say(request(1, method, forged))
        assert (await agent.hear())["error"]["code"] == -32601
    assert await (await proxy.talker()).is_silent()
    proxy.say(wrap("proxy/initialize", {}), request(3, "proxy/initialize", {}))
    assert (await proxy.hear())["error"]["code"] == -32601
    assert await (await agent.talker()).is_silent()
    assert await chained.client.is_silent()


@pytest.mark.requirement("TR-PRX-14", "TR-PRX-16")
@pytest.mark.parametrize("versions", [(1,), (1, 2)])
@pytest.mark.parametrize("count", [0, 1, 3])
async def test_a_client_talks_to_a_chain_as_to_an_agent(
    versions: tuple[int, ...], count: int
) -> None:
    conductor = Conductor(*(Proxy(f"p{each}") for each in range(count)), agent=echo())
    async with parley.connect(conductor, "/", versions=versions) as agent:
        assert agent.version == max(versions)
        session = await agent.new_session()
        assert await session.ask("Hello") == "Hello"
    async with parley.connect(conductor, "/", versions=versions) as agent:
        assert await (await agent.new_session()).ask("once more") == "once more"


MIXED = [
    (),
    ("a",),
    (Proxy("b"),),
    ("a", Proxy("b")),
    (Proxy("b"), "a"),
    ("a", "c", Proxy("b"), Proxy("d"), "e"),
]


@pytest.mark.requirement("TR-PRX-18", "TR-PRX-22")
@pytest.mark.parametrize("parts", MIXED, ids=lambda parts: str(len(parts)))
async def test_processes_and_objects_are_mixed_and_the_order_is_theirs(
    parts: tuple[str | Proxy, ...],
) -> None:
    marks = "".join(part if isinstance(part, str) else "" for part in parts)
    components = [
        component_command("mark", each) if isinstance(each, str) else each for each in parts
    ]
    async with parley.connect(Conductor(*components, agent=echo()), "/") as agent:
        session = await agent.new_session()
        assert await session.ask("!") == marks + marks[::-1] + "!"


@pytest.mark.requirement("TR-PRX-22")
async def test_an_answer_comes_behind_every_update_also_through_processes() -> None:
    conductor = Conductor(*[component_command("plain")] * 2, agent=component_command("agent"))
    chained = ConductedChain(conductor)
    await chained.begin(1)
    prompt = [{"type": "text", "text": "500 20"}]
    chained.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": prompt}))
    texts = await chained.client.texts(500)
    assert [int(text.strip(".")) for text in texts] == list(range(500))
    assert (await chained.client.hear())["result"] == {"stopReason": "end_turn"}
    assert await chained.end() is None


@pytest.mark.requirement("TR-PRX-19")
async def test_nothing_is_started_before_the_client_begins() -> None:
    proxy, agent = FakeComponent(), FakeComponent()
    chained = ConductedChain(Conductor(proxy, agent=agent))
    chained.client.say(b"{oops", b"[]", request(1, "session/new", {}), notification("_x", {}))
    assert (await chained.client.hear())["error"]["code"] == -32700
    assert (await chained.client.hear())["error"]["code"] == -32600
    early = await chained.client.hear()
    assert (early["id"], early["error"]["code"]) == (1, -32600)
    assert not proxy.is_started
    assert not agent.is_started
    chained.initialize()
    await pass_initialize(proxy)
    assert proxy.is_started
    assert agent.is_started
    await chained.end()


async def test_a_client_that_is_gone_before_it_began_starts_nothing() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(agent=agent))
    assert await chained.end() is None
    assert not agent.is_started


@pytest.mark.requirement("TR-PRX-30")
async def test_an_array_passes_a_chain_as_one() -> None:
    proxy, agent = Proxy("p"), FakeComponent()
    chained = ConductedChain(Conductor(proxy, agent=agent))
    chained.initialize()
    await answer_initialize(agent)
    await chained.client.hear()
    two = [{"jsonrpc": "2.0", "id": id, "method": "session/list"} for id in (1, 2)]
    chained.client.say(json.dumps(two).encode())
    asked = await agent.hear()
    assert [each["method"] for each in asked] == ["session/list"] * 2
    answers = [result(each["id"], {"sessions": []}) for each in asked]
    agent.say(b"[%b]" % b",".join(answers))
    assert [each["id"] for each in await chained.client.hear()] == [1, 2]
    await chained.end()


@pytest.mark.requirement("TR-PRX-25")
async def test_an_agent_that_answers_in_a_version_that_nobody_asked_for_is_refused() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(agent=agent))
    chained.initialize(1)
    asked = await agent.hear()
    agent.say(result(asked["id"], RESULTS[2]))
    refused = (await chained.client.hear())["error"]
    assert "version 2" in refused["message"]
    await chained.end()


async def test_a_chain_without_an_agent_says_so_to_a_client() -> None:
    chained = ConductedChain(Conductor(Proxy("p")))
    assert "without an agent" in (await chained.begin())["error"]["message"]
    await chained.client.until(lambda: chained.client.lost is not None)


async def test_an_agent_in_the_place_of_a_proxy_is_named() -> None:
    with pytest.raises(InternalError, match="is not a proxy: it does not support proxy/init"):
        async with parley.connect(Conductor(echo(), agent=echo())):
            pass


async def test_what_cannot_be_started_is_named() -> None:
    part = ComponentSpec(target=["no-such-program-at-all"], name="the missing one")
    chained = ConductedChain(Conductor(Proxy("p"), part, agent=FakeComponent()))
    refused = (await chained.begin())["error"]
    assert refused["message"].startswith("the missing one cannot be started")
    with pytest.raises((ConnectFailed, parley.RequestError)):
        async with parley.connect(Conductor(part, agent=FakeComponent()), "/"):
            raise AssertionError("it cannot be there")


def test_a_chain_has_an_end() -> None:
    with pytest.raises(ValueError, match="at most 16"):
        Conductor(*[Proxy("p")] * 17, agent=FakeComponent())
