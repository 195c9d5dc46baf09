"""The handshake, as an agent responds to it.

https://agentclientprotocol.com/protocol/v1/initialization
https://agentclientprotocol.com/protocol/v2/initialization
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from parley.agent import Agent
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods
from parley.transport import memory_pair

from .raw_client import (
    INFO,
    RawClient,
    everywhere,
    in_both_versions,
    in_process,
    initialized,
    talking,
)
from .scripted_agents import reply
from .wire_values import is_refused

requirement = pytest.mark.requirement
V1_ONLY = ["authenticate", "session/set_mode", "logout"]  # a draft of version 2 had session/load
V2_ONLY = ["auth/login", "auth/logout", "tool_call/cancel", "terminal/cancel"]


@requirement("V1-INIT-06", "V1-INIT-07", "V1-INIT-08", "V1-INIT-17", "V2-INIT-04", "V2-INIT-05")
@requirement("V2-INIT-12")
@everywhere
async def test_an_agent_says_which_version_who_it_is_and_what_it_offers(
    version: int, over: str
) -> None:
    async with talking("full", over) as client:
        result = await client.initialize(version)
        assert result["protocolVersion"] == version
        if version == 1:
            assert result["agentInfo"] == {"name": "actor", "version": "1.2"}
            offered = result["agentCapabilities"]
            assert (offered["loadSession"], offered["promptCapabilities"]["embeddedContext"]) == (
                True,
                True,
            )
            table = v1_methods.TABLE
        else:
            assert result["info"] == {"name": "actor", "version": "1.2"}
            offered = result["capabilities"]
            assert offered["session"]["fork"] == {}
            assert "true" not in str(offered).lower()
            table = v2_methods.TABLE
        assert not is_refused(table.requests("agent")["initialize"].result, result)


@requirement("V1-INIT-09", "V1-INIT-13", "V2-INIT-06", "V2-DUAL-03")
@pytest.mark.parametrize(
    ("versions", "requested", "expected"),
    [
        ((1, 2), 65535, 2),
        ((1, 2), 3, 2),
        ((1, 2), 0, 2),
        ((1,), 999, 1),
        ((1,), 2, 1),
        ((1,), 0, 1),
        ((2,), 1, 2),
        ((2,), 65535, 2),
    ],
)
async def test_a_version_that_the_agent_does_not_speak_is_answered_with_its_own(
    versions: tuple[int, ...], requested: int, expected: int
) -> None:
    agent = Agent("x", versions=versions)
    agent.prompt(reply)
    here, there = memory_pair()
    serving = asyncio.create_task(agent.serve(there))
    client = RawClient(here)
    body = {"protocolVersion": requested, "info": INFO, "clientInfo": INFO}
    result = await client.call("initialize", body)
    assert result["protocolVersion"] == expected
    assert ("info" in result, "agentInfo" in result) == (expected == 2, expected == 1)
    await here.aclose()
    await serving


@requirement("V1-INIT-12", "V2-INIT-09")
@pytest.mark.parametrize("wrong", ["1", "2", -1, 1.5, 100000, 65536, None, True, [2], {}])
async def test_a_version_that_is_no_small_integer_is_refused_and_may_be_tried_again(
    wrong: Any,
) -> None:
    async with talking() as client:
        params = {"protocolVersion": wrong, "info": INFO}
        assert await client.refusal("initialize", params) == -32602
        assert (await client.initialize(1))["protocolVersion"] == 1


@requirement("V1-INIT-24", "V2-INIT-21")
@in_process
async def test_nothing_works_before_the_handshake_and_nothing_is_made(
    version: int, over: str
) -> None:
    async with talking("full", over) as client:
        params: Any = {"cwd": "/", "mcpServers": []}
        assert await client.refusal("session/new", params) == -32600
        assert await client.refusal("session/list") == -32600
        client.send(method="$/cancel_request", params={"requestId": 1})
        await client.initialize(version)
        assert (await client.call("session/list"))["sessions"] == []
        await client.new_session()


@requirement("V1-INIT-25", "V2-INIT-20")
@in_process
async def test_a_second_handshake_is_refused_and_the_sessions_live(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        params = {"protocolVersion": version, "info": INFO}
        assert await client.refusal("initialize", params) == -32600
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-INIT-11", "V2-INIT-10", "V2-DUAL-04", "V2-CFG-10", "V2-DUAL-01")
@in_process
async def test_only_the_agreed_version_is_spoken(version: int, over: str) -> None:
    async with initialized(version, over, "locked") as client:
        for method in V2_ONLY if version == 1 else V1_ONLY:
            params: Any = {"sessionId": "s", "methodId": "m", "cwd": "/", "mcpServers": []}
            assert await client.refusal(method, params) == -32601
    async with initialized(version, over) as client:
        session = await client.new_session()
        for text in ("say one", "tool", "plan", "report", "think x", "own_terminal"):
            await client.turn(session, text)
        table = v1_methods.TABLE if version == 1 else v2_methods.TABLE
        notifications = table.notifications("client")
        for message in client.log:
            if "method" in message:
                assert not is_refused(notifications[message["method"]].params, message["params"])
        kinds = {each["sessionUpdate"] for each in client.updates(session)}
        assert ("state_update" in kinds, "plan" in kinds) == (version == 2, version == 1)


@requirement("V1-INIT-21", "V2-INIT-14")
@in_process
async def test_the_baseline_works_without_any_capability(version: int, over: str) -> None:
    async with initialized(version, over, "bare") as client:
        session = await client.new_session()
        assert (await client.turn(session, "say hi")).text == "hi"
        client.cancel(session)
        assert (await client.call("session/list"))["sessions"]
        await client.call("session/close", {"sessionId": session})
        again: Any = {"sessionId": session, "cwd": "/", "mcpServers": []}
        if (version, over) == (1, "stdio"):  # its process ends with the connection
            assert await client.refusal("session/resume", again) == -32601
            return
        await client.call("session/resume", again)
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V2-INIT-16")
@in_both_versions
async def test_an_agent_without_sessions_refuses_them(version: int) -> None:
    here, there = memory_pair()
    serving = asyncio.create_task(Agent("empty").serve(there))
    client = RawClient(here)
    result = await client.initialize(version)
    if version == 2:
        assert "session" not in result["capabilities"]
    params: Any = {"cwd": "/", "mcpServers": []}
    assert await client.refusal("session/new", params) == -32601
    await here.aclose()
    await serving


@requirement("V1-INIT-27", "V1-INIT-14")
@pytest.mark.parametrize(
    "wrong",
    [
        {"clientInfo": 3},
        {"clientInfo": {"name": 5}},
        {"clientCapabilities": False},
        {"clientCapabilities": {"fs": "yes", "terminal": {}}},
        {},
    ],
)
async def test_broken_info_and_capabilities_do_not_fail_the_handshake_of_version_1(
    wrong: dict[str, Any],
) -> None:
    async with talking() as client:
        client.version = 1
        result = await client.call("initialize", {"protocolVersion": 1, **wrong})
        assert result["protocolVersion"] == 1
        session = await client.new_session()
        assert (await client.turn(session, "read /a")).text == "unsupported"


@pytest.mark.parametrize(
    "info",
    [
        {"info": None},
        {"info": {"name": "x"}},
        {"info": 5},
        {"info": 5, "clientInfo": {"name": "x", "version": "1"}},
        {"clientInfo": {"name": "x"}},
        {"clientInfo": 5},
    ],
)
async def test_version_2_refuses_a_client_that_says_wrongly_who_it_is(info: dict[str, Any]) -> None:
    async with talking() as client:
        assert await client.refusal("initialize", {"protocolVersion": 2, **info}) == -32602


CAPABILITIES: dict[int, list[dict[str, Any]]] = {
    1: [
        {"fs": {"readTextFile": True}},
        {"terminal": True},
        {"elicitation": {"form": {}}},
        {"session": {"compaction": {}}},
        {"session": {"notices": {}, "configOptions": {"boolean": {}}}},
        {"plan": {}},
        {"auth": {"terminal": True}},
    ],
    2: [
        {"elicitation": {"form": {}}},
        {"elicitation": {"url": {}}},
        {"auth": {"terminal": {}}},
        {"workspace": {"activeDocument": {}}},
    ],
}


@requirement("V1-INIT-15", "V2-INIT-13")
@in_both_versions
async def test_every_mix_of_capabilities_is_coped_with(version: int) -> None:
    for mix in itertools.product([False, True], repeat=len(CAPABILITIES[version])):
        chosen = [each for each, is_on in zip(CAPABILITIES[version], mix, strict=True) if is_on]
        offered = {key: value for each in chosen for key, value in each.items()}
        async with initialized(version, capabilities=offered) as client:
            client.answers["elicitation/create"] = lambda params: {"action": "decline"}
            client.answers["fs/read_text_file"] = lambda params: {"content": "x"}
            session = await client.new_session()
            for text in ("say hi", "plan", "report", "read /a", "elicit"):
                turn = await client.turn(session, text)
                assert (turn.stop_reason, turn.error) == ("end_turn", None), (offered, text)
