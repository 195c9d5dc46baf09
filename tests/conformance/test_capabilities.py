"""Capabilities in all of their JSON forms, and which of them count as offered.

https://agentclientprotocol.com/protocol/v1/initialization
https://agentclientprotocol.com/protocol/v2/initialization
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._v1_capabilities import agent_to_v1, client_to_v1

from .raw_agent import RawAgent, connected
from .raw_client import talking_to
from .wire_values import write

requirement = pytest.mark.requirement
NOT_TRUE: list[Any] = [False, None, "yes", 1, {}, []]
NO_MARKER: list[Any] = [None, False, True, "yes", 1, []]


def client(version: int, capabilities: Any) -> ClientFeatures:
    """Return what an agent believes of a client that says this on a connection."""

    async def connect() -> ClientFeatures:
        seen: list[ClientFeatures] = []
        agent = Agent("observer")
        agent.prompt(_nothing)

        @agent.open_session
        async def look(session: AgentSession) -> None:
            seen.append(session.client)

        async with talking_to(agent) as client:
            await client.initialize(version, capabilities)
            await client.new_session()
        return seen[0]

    return asyncio.run(connect())


async def _nothing(turn: Turn) -> None: ...


def agent(version: int, capabilities: Any) -> AgentFeatures:
    """Return what a client believes of an agent that says this on a connection."""

    async def connect() -> AgentFeatures:
        raw = RawAgent(version)
        raw.hello["agentCapabilities" if version == 1 else "capabilities"] = capabilities
        async with connected(raw) as connection:
            return connection.features

    return asyncio.run(connect())


@requirement("V1-INIT-14", "V1-INIT-28", "V2-INIT-11")
def test_what_is_not_stated_is_not_there() -> None:
    assert client(1, {}) == ClientFeatures()
    always = ("compaction", "notices", "plans", "subagents", "boolean_options")
    everything: Any = dict.fromkeys(always, True)
    assert client(2, {}) == ClientFeatures(**everything)
    never: Any = dict.fromkeys(("load", "resume", "list", "close", "delete"), False)
    assert agent(1, {}) == AgentFeatures(sessions=True, mcp_stdio=True, **never)
    assert agent(2, {}) == AgentFeatures(**never)
    assert agent(1, 5) == agent(1, {})


@requirement("V1-INIT-19", "V1-AUTH-10", "V1-SESS-12")
@pytest.mark.parametrize("value", NOT_TRUE)
def test_a_boolean_is_on_only_for_true(value: Any) -> None:
    files = {"readTextFile": value, "writeTextFile": True}
    seen = client(1, {"fs": files, "terminal": value, "auth": {"terminal": value}})
    assert seen == ClientFeatures(write_files=True)
    offered = agent(1, {"loadSession": value, "promptCapabilities": {"image": value}})
    assert offered == agent(1, {})
    assert agent(1, {"loadSession": True}).load


@requirement("V1-INIT-18", "V1-ELIC-02", "V2-ELIC-01", "V2-INIT-12")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("value", NO_MARKER)
def test_a_marker_is_on_only_for_an_object(version: int, value: Any) -> None:
    assert client(version, {"elicitation": {"form": value, "url": {}}}) == client(
        version, {"elicitation": {"url": {}}}
    )
    assert client(version, {"elicitation": {"form": {}}}).form_elicitation
    assert not client(version, {"elicitation": {}}).form_elicitation
    key = "sessionCapabilities" if version == 1 else "session"
    assert agent(version, {key: {"delete": value}}) == agent(version, {key: {}})
    assert agent(version, {key: {"delete": {}}}).delete


@requirement("V1-INIT-20")
@pytest.mark.parametrize("version", [1, 2])
def test_the_good_members_of_a_partly_broken_object_count(version: int) -> None:
    yes: Any = True if version == 1 else {}
    prompt = {"image": "yes", "audio": yes, "embeddedContext": 5}
    wrapped = {"promptCapabilities": prompt} if version == 1 else {"session": {"prompt": prompt}}
    seen = agent(version, wrapped)
    assert (seen.image, seen.audio, seen.embedded_context) == (False, True, False)


NO_FLAG = ("meta", "nes", "nes_actions", "position_encoding", "position_encodings")


def every(features: type[Any]) -> dict[str, Any]:
    """Return all flags, switched on."""
    return {name: True for name in features.__struct_fields__ if name not in NO_FLAG}


@requirement("V2-INIT-12", "V1-INIT-16", "V1-INIT-17")
def test_everything_that_is_offered_is_written_so_that_it_is_read_back() -> None:
    everything = every(ClientFeatures)
    written = write(client_to_v1(ClientFeatures(**everything)))
    assert client(1, written) == ClientFeatures(**everything)
    assert written.keys() >= {"fs", "terminal", "auth", "elicitation", "session"}
    offered = every(AgentFeatures)
    capabilities = write(agent_to_v1(AgentFeatures(**offered)))
    assert agent(1, capabilities) == AgentFeatures(**offered)
    stated = {"loadSession", "promptCapabilities", "mcpCapabilities", "auth", "sessionCapabilities"}
    assert capabilities.keys() >= stated


@requirement("V2-INIT-12")
def test_version_2_writes_no_booleans() -> None:
    everything = every(ClientFeatures)
    offered = every(AgentFeatures)
    for capabilities in (
        write(ClientFeatures(**everything).to_v2()),
        write(AgentFeatures(**offered).to_v2()),
    ):
        assert capabilities
        pending = [capabilities]
        while pending:
            value = pending.pop()
            assert isinstance(value, dict)
            pending += value.values()


@requirement("V1-EXT-12", "V2-INIT-17")
@pytest.mark.parametrize("version", [1, 2])
def test_custom_capabilities_are_in_the_meta_of_capabilities(version: int) -> None:
    meta = {"example.com/x": {"level": 3}}
    assert client(version, {"_meta": meta, "root": 1}).meta == meta
    assert agent(version, {"_meta": meta, "root": 1}).meta == meta
    mine = ClientFeatures(meta=meta)
    assert write(client_to_v1(mine) if version == 1 else mine.to_v2())["_meta"] == meta
