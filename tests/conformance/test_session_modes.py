"""Setting options and modes, as an agent takes it, and both kept in step in version 1.

https://agentclientprotocol.com/protocol/v1/session-modes
https://agentclientprotocol.com/protocol/v1/session-config-options
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .raw_client import RawClient, everywhere, in_both_versions, in_process, initialized

requirement = pytest.mark.requirement
BOOLEANS: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}}


def values(version: int, options: list[Any]) -> dict[str, Any]:
    key = "id" if version == 1 else "configId"
    return {each[key]: each["currentValue"] for each in options}


async def opened(client: RawClient) -> tuple[str, Any]:
    result = await client.call("session/new", {"cwd": "/", "mcpServers": []})
    return result["sessionId"], result


async def set_option(client: RawClient, session: str, id: str, value: Any) -> Any:
    kind = {} if client.version == 1 else {"type": "id"}
    if isinstance(value, bool):
        kind = {"type": "boolean"}
    params = {"sessionId": session, "configId": id, "value": value, **kind}
    return await client.ask("session/set_config_option", params)


@requirement("V2-DUAL-14")
@requirement("V1-CONF-01", "V1-CONF-03", "V1-CONF-06", "V1-CONF-07", "V1-CONF-13", "V2-CFG-01")
@requirement("V1-MODE-01", "V1-MODE-02", "V1-MODE-08")
@everywhere
async def test_a_new_session_has_options_with_values_and_modes_in_step(
    version: int, over: str
) -> None:
    async with initialized(version, over) as client:
        _, result = await opened(client)
        options = result["configOptions"]
        found = values(version, options)
        assert list(found)[:3] == ["mode", "model", "effort"]
        for option in options:
            if option["type"] == "select":
                assert option["currentValue"] in [each["value"] for each in option["options"]]
        if version == 1:
            modes = result["modes"]
            assert modes["currentModeId"] == found["mode"] == "ask"
            assert [each["id"] for each in modes["availableModes"]] == ["ask", "code"]
        else:
            assert "modes" not in result


@requirement("V1-CONF-16", "V1-CONF-21", "V1-CONF-06", "V2-CFG-02", "V2-CFG-04")
@in_process
async def test_the_answer_to_a_change_has_all_options_and_what_depends_on_it(
    version: int, over: str
) -> None:
    async with initialized(version, over) as client:
        session, result = await opened(client)
        before = result["configOptions"]
        response = (await set_option(client, session, "model", "large"))["result"]["configOptions"]
        assert values(version, response) == {**values(version, before), "model": "large"}
        efforts = [len(each["options"]) for each in (before[2], response[2])]
        assert efforts == [1, 2]


@requirement("V1-CONF-18", "V2-CFG-05", "V1-MODE-04")
@in_both_versions
@pytest.mark.parametrize(
    ("id", "value"), [("nope", "a"), ("model", "nope"), ("model", True), ("mode", "")]
)
async def test_an_unknown_option_or_value_is_refused_and_changes_nothing(
    version: int, id: str, value: Any
) -> None:
    async with initialized(version) as client:
        session, result = await opened(client)
        response = await set_option(client, session, id, value)
        assert response["error"]["code"] == -32602
        same = (await set_option(client, session, "mode", "ask"))["result"]["configOptions"]
        assert values(version, same) == values(version, result["configOptions"])


@requirement("V1-CONF-20")
async def test_a_string_with_an_unknown_type_is_the_id_of_a_value() -> None:
    async with initialized(1, capabilities=BOOLEANS) as client:
        session, _ = await opened(client)

        def change(id: str, value: Any, kind: str) -> tuple[str, Any]:
            params = {"sessionId": session, "configId": id, "value": value, "type": kind}
            return "session/set_config_option", params

        changed = await client.call(*change("mode", "code", "text"))
        assert values(1, changed["configOptions"])["mode"] == "code"
        assert await client.refusal(*change("mode", "ask", "boolean")) == -32602
        changed = await client.call(*change("fast", False, "boolean"))
        found = values(1, changed["configOptions"])
        assert (found["mode"], found["fast"]) == ("code", False)


@requirement("V1-CONF-03", "V1-MODE-12", "V1-MODE-03")
async def test_options_and_modes_are_kept_in_step_both_ways() -> None:
    async with initialized(1) as client:
        session, _ = await opened(client)
        since = len(client.log)
        assert await client.call("session/set_mode", {"sessionId": session, "modeId": "code"}) == {}
        update = await client.saw(session, since, sessionUpdate="config_option_update")
        assert values(1, update["configOptions"])["mode"] == "code"
        for _ in range(2):
            assert json.loads((await client.turn(session, "where")).text)["mode"] == "code"
        since = len(client.log)
        await set_option(client, session, "mode", "ask")
        update = await client.saw(session, since, sessionUpdate="current_mode_update")
        assert update["currentModeId"] == "ask"


@requirement("V1-MODE-04")
async def test_an_unknown_mode_is_refused_and_the_mode_stays() -> None:
    async with initialized(1) as client:
        session, _ = await opened(client)
        params = {"sessionId": session, "modeId": "nope"}
        assert await client.refusal("session/set_mode", params) == -32602
        assert json.loads((await client.turn(session, "where")).text)["mode"] == "ask"
        assert await client.refusal("session/set_mode", {**params, "sessionId": "x"}) in (
            -32002,
            -32602,
        )


@requirement("V1-MODE-05", "V1-CONF-19")
@in_both_versions
async def test_an_option_may_be_set_while_a_turn_runs(version: int) -> None:
    async with initialized(version) as client:
        session, _ = await opened(client)
        id = client.prompt(session, "slow")
        await client.saw(session, sessionUpdate="agent_message_chunk")
        assert "result" in await set_option(client, session, "model", "large")
        if version == 1:
            await client.call("session/set_mode", {"sessionId": session, "modeId": "code"})
        client.cancel(session)
        assert (await client.ended(session, id, 0)).stop_reason == "cancelled"


@requirement("V1-CONF-09", "V1-CONF-10", "V2-CFG-09")
@pytest.mark.parametrize(
    ("version", "offered", "has_booleans"), [(1, {}, False), (1, BOOLEANS, True), (2, {}, True)]
)
async def test_boolean_options_go_only_to_clients_that_take_them(
    version: int, offered: dict[str, Any], has_booleans: bool
) -> None:
    async with initialized(version, capabilities=offered) as client:
        session, result = await opened(client)
        client.answers["session/request_permission"] = lambda params: {
            "outcome": {"outcome": "selected", "optionId": "?odd id"}
        }
        changed = (await set_option(client, session, "model", "large"))["result"]
        turn = await client.turn(session, "switch")
        (update,) = turn.of("config_option_update")
        again: Any = {"sessionId": session, "cwd": "/", "mcpServers": []}
        resumed = await client.call("session/resume", again)
        for payload in (result, changed, update, resumed):
            kinds = {each["type"] for each in payload["configOptions"]}
            assert kinds == ({"select", "boolean"} if has_booleans else {"select"})


@requirement("V1-CONF-10")
async def test_a_boolean_option_may_be_set_as_a_select() -> None:
    async with initialized(1) as client:
        session, result = await opened(client)
        fast = next(each for each in result["configOptions"] if each["id"] == "fast")
        other = next(v["value"] for v in fast["options"] if v["value"] != fast["currentValue"])
        response = (await set_option(client, session, "fast", other))["result"]["configOptions"]
        assert values(1, response)["fast"] == other


@requirement("V1-MODE-06", "V1-CONF-17", "V2-CFG-03")
@in_both_versions
async def test_a_change_by_the_agent_is_told_with_all_options(version: int) -> None:
    async with initialized(version) as client:
        session, result = await opened(client)
        client.answers["session/request_permission"] = lambda params: {
            "outcome": {"outcome": "selected", "optionId": "?odd id"}
        }
        turn = await client.turn(session, "switch")
        (update,) = turn.of("config_option_update")
        expected = {**values(version, result["configOptions"]), "mode": "code"}
        assert values(version, update["configOptions"]) == expected
        modes = [each["currentModeId"] for each in turn.of("current_mode_update")]
        assert modes == (["code"] if version == 1 else [])
