"""Conductors inside each other."""

from __future__ import annotations

import pytest
from tests.unit.proxy.component_process import marking
from tests.unit.proxy.conducted_chain import (
    ConductedChain,
    FakeComponent,
    answer_initialize,
    component_command,
    pass_initialize,
)
from tests.unit.proxy.proxied_pair import PARAMS, notification, request, result

import parley
from parley.proxy import Conductor
from parley.proxy._chain.component import ComponentSpec

from .test_conductor import echo


@pytest.mark.requirement("TR-PRX-17", "TR-PRX-18")
@pytest.mark.parametrize("versions", [(1,), (1, 2)])
async def test_a_conductor_is_a_proxy_in_another_and_the_order_is_that_of_one_chain(
    versions: tuple[int, ...],
) -> None:
    inner = Conductor(marking("b"), Conductor(component_command("mark", "c"), marking("d")))
    outer = Conductor(marking("a"), inner, Conductor(), marking("e"), agent=echo())
    async with parley.connect(outer, "/", versions=versions) as agent:
        session = await agent.new_session()
        assert await session.ask("!") == "abcdeedcba!"


@pytest.mark.requirement("TR-PRX-17")
@pytest.mark.parametrize("prefix", ["", "_"])
async def test_the_successor_of_the_last_proxy_is_the_conductors_own(prefix: str) -> None:
    part = FakeComponent()
    above = ConductedChain(Conductor(part))
    above.client.say(request("i", f"{prefix}proxy/initialize", PARAMS[2]))
    asked = await pass_initialize(part)
    passed = await above.client.hear()
    assert passed["method"] == f"{prefix}proxy/successor"
    assert passed["params"] == {"method": "initialize", "params": PARAMS[2]}
    above.client.say(result(passed["id"], {"protocolVersion": 2}))
    part.say(result(asked["id"], (await part.hear())["result"]))
    assert (await above.client.hear())["id"] == "i"
    above.client.say(
        notification(f"{prefix}proxy/successor", {"method": "_up", "params": {"n": 1}})
    )
    wrap = await part.hear()
    assert wrap["method"] == "proxy/successor"
    assert wrap["params"] == {"method": "_up", "params": {"n": 1}}
    part.say(notification("_up", {"n": 1}))
    assert (await above.client.hear())["method"] == "_up"
    assert await above.end() is None


async def test_a_chain_with_an_agent_is_no_part_of_another() -> None:
    above = ConductedChain(Conductor(agent=FakeComponent()))
    above.client.say(request("i", "proxy/initialize", PARAMS[2]))
    assert "has an agent of its own" in (await above.client.hear())["error"]["message"]


async def test_how_deep_a_conductor_is_is_told_inside_and_nowhere_else() -> None:
    part, agent = FakeComponent(), FakeComponent()
    chained = ConductedChain(Conductor(Conductor(Conductor(part)), agent=agent))
    chained.initialize(_meta={"mine": 1})
    asked = await pass_initialize(part)
    assert asked["params"]["_meta"] == {"mine": 1, "parley": {"depth": 2}}
    heard = await answer_initialize(agent)
    assert heard["params"] == PARAMS[2] | {"_meta": {"mine": 1}}
    await chained.end()


async def test_a_conductor_that_starts_itself_is_stopped() -> None:
    loop = Conductor()
    loop.components.append(ComponentSpec(target=loop))
    chained = ConductedChain(Conductor(loop, agent=FakeComponent()))
    refused = (await chained.begin())["error"]
    assert "does one start itself?" in refused["message"]
    await chained.end()
