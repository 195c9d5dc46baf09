"""Logging in and out, as an agent has it.

https://agentclientprotocol.com/protocol/v1/authentication
https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.errors import LocalProtocolError
from parley.schema import v2
from parley.schema.base import Unknown

from .raw_agent import RawAgent, connected
from .raw_client import RawClient, everywhere, in_both_versions, initialized, talking
from .scripted_agents import AGENTS
from .wire_values import is_refused, write

requirement = pytest.mark.requirement
NEW: Any = {"cwd": "/", "mcpServers": []}


def login(client: RawClient) -> str:
    return "authenticate" if client.version == 1 else "auth/login"


def logout(client: RawClient) -> str:
    return "logout" if client.version == 1 else "auth/logout"


@requirement("V1-AUTH-06", "V1-AUTH-07", "V1-AUTH-08", "V1-AUTH-19", "V2-AUTH-01")
@requirement("V2-AUTH-10", "V2-AUTH-11")
@everywhere
async def test_a_login_opens_and_a_logout_closes(version: int, over: str) -> None:
    async with initialized(version, over, "locked") as client:
        for _ in range(2):
            assert await client.refusal("session/new", NEW) == -32000
            assert await client.call(login(client), {"methodId": "key"}) == {}
            assert "sessionId" in await client.call("session/new", NEW)
            assert await client.call(logout(client)) == {}
        assert await client.refusal("session/new", NEW) == -32000


@requirement("V1-AUTH-05", "V1-INIT-22", "V2-AUTH-09")
@in_both_versions
@pytest.mark.parametrize("id", ["nope", "tty", ""])
async def test_an_unknown_or_terminal_login_is_refused(version: int, id: str) -> None:
    terminal: Any = True if version == 1 else {}
    offered = {"auth": {"terminal": terminal}}
    async with initialized(version, name="locked", capabilities=offered) as client:
        assert await client.refusal(login(client), {"methodId": id}) == -32602
        assert await client.refusal("session/new", NEW) == -32000


@requirement("V1-INIT-22")
async def test_an_agent_of_version_1_without_logins_answers_authenticate_with_an_error() -> None:
    async with initialized(1, name="bare") as client:
        code = await client.refusal("authenticate", {"methodId": "nope"})
        assert code in (-32601, -32602)


@requirement("V2-DUAL-14")
@requirement("V1-AUTH-10", "V2-AUTH-04", "V2-AUTH-05", "V2-AUTH-07", "V2-AUTH-13", "TR-REG-09")
@in_both_versions
@pytest.mark.parametrize("has_terminal", [True, False])
async def test_a_login_in_a_terminal_is_offered_only_to_clients_that_have_one(
    version: int, has_terminal: bool
) -> None:
    terminal: Any = has_terminal if version == 1 else ({} if has_terminal else None)
    async with talking("locked") as client:
        result = await client.initialize(version, {"auth": {"terminal": terminal}})
        methods = result["authMethods"]
        key = "id" if version == 1 else "methodId"
        assert [each[key] for each in methods] == ["key", *(["tty"] if has_terminal else [])]
        assert methods[0]["name"] == "Key"
        if version == 2:
            assert methods[0]["type"] == "agent"
        if has_terminal:
            assert (methods[1]["type"], methods[1]["args"]) == ("terminal", ["--login"])
            variables = {"A": "1"} if version == 1 else [{"name": "A", "value": "1"}]
            assert methods[1]["env"] == variables


@requirement("V2-AUTH-18", "V1-AUTH-18")
@in_both_versions
async def test_an_agent_without_logins_offers_none_and_asks_for_none(version: int) -> None:
    async with talking("bare") as client:
        result = await client.initialize(version)
        assert result.get("authMethods", []) == []
        assert "logout" not in str(result)
        assert await client.refusal(logout(client)) == -32601
        assert "sessionId" in await client.call("session/new", NEW)


@requirement("V2-AUTH-01")
def test_a_login_without_a_logout_is_the_programs_mistake() -> None:
    agent = AGENTS["bare"]()
    agent.terminal_login("tty", name="Terminal")
    with pytest.raises(LocalProtocolError, match="logout"):
        agent._state.handlers.features(agent.features)


@requirement("V2-AUTH-04")
def test_two_logins_of_one_id_are_the_programs_mistake() -> None:
    agent = AGENTS["locked"]()
    with pytest.raises(LocalProtocolError, match="already"):
        agent.terminal_login("key", name="Again")


@requirement("V1-AUTH-09", "V1-AUTH-22", "V1-AUTH-23", "V2-AUTH-04", "V2-AUTH-06", "V1-INIT-27")
async def test_a_method_without_a_type_or_of_an_unknown_one_is_the_agents_own() -> None:
    agent = RawAgent(1)
    methods = [{}, {"id": "a", "name": "A"}, 5, {"type": "oauth", "id": "b", "name": "B"}]
    agent.hello |= {"authMethods": methods, "agentInfo": 5}
    async with connected(agent) as connection:
        assert connection.auth_methods == [
            v2.AuthMethodAgent(method_id="a", name="A"),
            v2.AuthMethodAgent(method_id="b", name="B"),
        ]
    kept = {"type": "oauth", "methodId": "b", "name": "B"}
    agent = RawAgent(2)
    agent.hello["authMethods"] = [kept]
    async with connected(agent) as connection:
        (method,) = connection.auth_methods
        assert isinstance(method, Unknown)
        assert write(method) == kept
    assert is_refused(v2.AuthMethod, {"methodId": "b", "name": "B"})
    assert is_refused(v2.AuthMethod, {"type": "agent", "name": "B"})
    assert is_refused(v2.AuthMethod, {"type": "agent", "methodId": "b"})


@requirement("V1-ELIC-06", "V1-ELIC-07", "V2-ELIC-03")
@in_both_versions
async def test_a_login_may_ask_the_user_on_behalf_of_its_request(version: int) -> None:
    offered: Any = {"elicitation": {"form": {}}}
    async with initialized(version, name="locked", capabilities=offered) as client:
        id = client.request(login(client), {"methodId": "key"})
        question = await client.requested("elicitation/create")
        assert (question["params"]["requestId"], question["params"]["mode"]) == (id, "form")
        assert "sessionId" not in question["params"]
        client.send(id=question["id"], result={"action": "accept", "content": {"name": "me"}})
        assert (await client.reply(id))["result"] == {}
