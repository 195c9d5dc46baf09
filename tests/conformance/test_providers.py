"""Providers of models: listed, set and disabled through an agent.

https://agentclientprotocol.com/rfds/custom-llm-endpoint
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.agent import Agent, AgentConnection
from parley.errors import LocalProtocolError
from parley.schema import v2

from .raw_agent import RawAgent, connected
from .raw_client import everywhere, in_both_versions, initialized, talking, talking_to
from .scripted_agents import AGENTS

requirement = pytest.mark.requirement
SPARE = v2.ProviderInfo(provider_id="spare", supported=["openai"], required=False)
SETUP = {"providerId": "spare", "apiType": "openai", "baseUrl": "https://x"}


@requirement("V1-PROV-01", "TR-PRV-01")
@in_both_versions
@pytest.mark.parametrize("name", ["full", "bare"])
async def test_providers_are_offered_by_an_agent_that_has_them(version: int, name: str) -> None:
    async with talking(name) as client:
        result = await client.initialize(version)
        offered = result["agentCapabilities" if version == 1 else "capabilities"]
        assert offered.get("providers") == ({} if name == "full" else None)


@requirement("V1-PROV-06", "TR-PRV-03", "TR-PRV-04")
@everywhere
async def test_a_provider_is_set_and_disabled_and_its_headers_are_not_told(
    version: int, over: str
) -> None:
    async with initialized(version, over) as client:

        async def spare() -> Any:
            listed = (await client.call("providers/list"))["providers"]
            assert [(each["providerId"], each["required"]) for each in listed] == [
                ("main", True),
                ("spare", False),
            ]
            return listed[1].get("current")

        assert await spare() is None
        secret = {**SETUP, "headers": {"Authorization": "secret"}}
        assert await client.call("providers/set", secret) == {}
        assert await spare() == {"apiType": "openai", "baseUrl": "https://x"}
        assert await client.call("providers/set", {**SETUP, "baseUrl": "https://y"}) == {}
        assert await spare() == {"apiType": "openai", "baseUrl": "https://y"}
        assert await client.call("providers/disable", {"providerId": "spare"}) == {}
        assert await spare() is None
        assert "secret" not in str(client.log)


@requirement("V1-PROV-10", "TR-PRV-05")
@in_both_versions
async def test_an_agent_gets_a_whole_setup_whose_missing_headers_are_none(version: int) -> None:
    received: list[v2.SetProviderRequest] = []
    agent = Agent("provided")

    @agent.list_providers
    async def listed(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return [SPARE]

    @agent.set_provider
    async def keep(request: v2.SetProviderRequest, connection: AgentConnection) -> None:
        received.append(request)

    @agent.disable_provider
    async def disable(id: str, connection: AgentConnection) -> None:
        received.clear()

    async with talking_to(agent) as client:
        await client.initialize(version)
        await client.call("providers/set", {**SETUP, "headers": {"Authorization": "secret"}})
        await client.call("providers/set", SETUP)
    assert [dict(each.headers) for each in received] == [{"Authorization": "secret"}, {}]


@requirement("V1-PROV-11", "V1-PROV-12", "V1-PROV-14", "TR-PRV-06", "TR-PRV-07", "TR-PRV-08")
@in_both_versions
async def test_what_cannot_be_set_or_disabled_is_refused(version: int) -> None:
    async with initialized(version) as client:
        for wrong in ({"providerId": "zzz"}, {"apiType": "_corp"}, {"baseUrl": 5}):
            assert await client.refusal("providers/set", {**SETUP, **wrong}) == -32602
        assert await client.refusal("providers/disable", {"providerId": "main"}) == -32602
        assert await client.call("providers/disable", {"providerId": "zzz"}) == {}


@requirement("V1-PROV-13", "TR-PRV-13")
@in_both_versions
async def test_a_client_does_not_disable_a_required_provider(version: int) -> None:
    agent = RawAgent(version, {"providers": {}})
    listed = [
        {"providerId": "main", "supported": ["openai"], "required": True},
        {"providerId": "spare", "supported": ["openai"], "required": False},
    ]
    agent.answers |= {
        "providers/list": lambda params: {"providers": listed},
        "providers/disable": lambda params: {},
    }
    async with connected(agent) as connection:
        with pytest.raises(LocalProtocolError, match="'main'"):
            await connection.disable_provider("main")
        await connection.disable_provider("spare")
    assert agent.got("providers/disable") == [{"providerId": "spare"}]


@requirement("V1-PROV-01", "TR-PRV-01")
def test_an_agent_that_lists_providers_must_set_and_disable_them_too() -> None:
    agent = AGENTS["bare"]()

    async def nothing(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return []

    agent.list_providers(nothing)
    with pytest.raises(LocalProtocolError, match="providers"):
        agent._state.handlers.features(agent.features)


@requirement("V1-PROV-03")
@in_both_versions
async def test_providers_come_after_the_handshake(version: int) -> None:
    async with talking() as client:
        assert await client.refusal("providers/list") == -32600
        await client.initialize(version)
        await client.call("providers/list")


@requirement("TR-PRV-14")
@in_both_versions
async def test_the_headers_of_a_provider_are_in_no_log(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with initialized(version) as client:
        for wrong in ({}, {"apiType": "_corp"}, {"baseUrl": 5}):
            secret = {**SETUP, "headers": {"Authorization": "planted"}, **wrong}
            await client.ask("providers/set", secret)
    assert "planted" not in caplog.text
