"""Asking for permission, as an agent does it.

https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1, v2

from .raw_client import everywhere, in_both_versions, initialized
from .raw_connection import ErrorResponse
from .wire_values import is_refused

requirement = pytest.mark.requirement
METHOD = "session/request_permission"
YES = {"outcome": {"outcome": "selected", "optionId": "?odd id"}}


@requirement("V1-PERM-01", "V1-PERM-02", "V1-PERM-03", "V1-PERM-12", "V1-PROMPT-13")
@requirement("V2-PERM-01", "V2-PERM-12", "V2-PROMPT-09")
@everywhere
async def test_a_tool_runs_only_after_the_user_has_agreed(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        id = client.prompt(session, "ask")
        question = await client.requested(METHOD)
        params = question["params"]
        assert params["sessionId"] == session
        options = [(each["optionId"], each["kind"]) for each in params["options"]]
        assert options == [("?odd id", "allow_once"), ("no", "reject_once")]
        assert {each["name"] for each in params["options"]} == {"Yes", "No"}
        if version == 1:
            call = params["toolCall"]
        else:
            assert params["title"] == "Delete a"
            call = params["subject"]["toolCall"]
        before = client.updates(session)
        assert call["toolCallId"] in {each.get("toolCallId") for each in before}
        assert "ran" not in str(before)
        client.send(id=question["id"], result=YES)
        turn = await client.ended(session, id, 0)
        assert (turn.text, turn.stop_reason) == ("chosen:?odd id", "end_turn")
        assert "ran" in str(turn.updates)
        states = [each["state"] for each in turn.of("state_update")]
        waited = ["running", "requires_action", "running", "idle"]
        assert states == (waited if version == 2 else [])


def refuse(params: Any) -> Any:
    raise ErrorResponse(-32603)


@requirement("V1-PERM-02", "V1-PERM-09", "V1-PERM-10", "V2-PERM-07", "V2-PERM-08")
@in_both_versions
@pytest.mark.parametrize(
    ("response", "chosen"),
    [
        ({"outcome": "selected", "optionId": "no"}, "no"),
        ({"outcome": "selected", "optionId": "zzz"}, None),
        ({"outcome": "cancelled"}, None),
        ({"outcome": "_maybe", "optionId": "?odd id"}, None),
        ({"outcome": "allowed", "optionId": "?odd id"}, None),
        ({"optionId": "?odd id"}, None),
        (5, None),
        (None, None),
    ],
)
async def test_nothing_but_an_offered_choice_allows_anything(
    version: int, response: Any, chosen: str | None
) -> None:
    async with initialized(version) as client:
        client.answers[METHOD] = (
            refuse if response is None else lambda params: {"outcome": response}
        )
        session = await client.new_session()
        turn = await client.turn(session, "ask")
        assert turn.text == f"chosen:{chosen}"
        assert "ran" not in str(turn.updates)
        assert turn.stop_reason in ("end_turn", "cancelled")
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-PERM-11", "V2-PERM-01")
@pytest.mark.parametrize("schema", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize(
    "options", [5, None, "x", [5], [{"optionId": "o"}], [{"optionId": "o", "name": "O"}]]
)
def test_broken_options_are_refused(schema: Any, options: Any) -> None:
    request = {"sessionId": "s", "title": "T", "toolCall": {"toolCallId": "t"}, "options": options}
    assert is_refused(schema.RequestPermissionRequest, request)


@requirement("V2-PERM-01")
def test_version_2_asks_with_an_option_at_least() -> None:
    request: Any = {"sessionId": "s", "title": "T", "options": []}
    assert is_refused(v2.RequestPermissionRequest, request)


@requirement("V1-MODE-10", "V1-MODE-11", "V1-MODE-06")
async def test_a_mode_is_switched_after_the_user_has_agreed() -> None:
    async with initialized(1) as client:
        session = await client.new_session()
        id = client.prompt(session, "switch")
        question = await client.requested(METHOD)
        assert question["params"]["toolCall"]["kind"] == "switch_mode"
        assert not [each for each in client.updates(session) if "currentModeId" in each]
        client.send(id=question["id"], result=YES)
        turn = await client.ended(session, id, 0)
        (change,) = turn.of("current_mode_update")
        assert change["currentModeId"] == "code"
