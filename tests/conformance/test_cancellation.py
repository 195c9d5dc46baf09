"""Cancelling turns: by session/cancel, by $/cancel_request, by closing the session.

https://agentclientprotocol.com/protocol/v1/cancellation
https://agentclientprotocol.com/protocol/v2/cancellation
"""

from __future__ import annotations

from typing import Any

import pytest

from .raw_client import RawClient, everywhere, in_both_versions, in_process, initialized

requirement = pytest.mark.requirement
SLOW = ["slow", "stubborn", "swallow"]


async def begun(client: RawClient, text: str) -> tuple[str, int]:
    """Begin a turn that does not end by itself; return its session and the id of the prompt."""
    session = await client.new_session()
    id = client.prompt(session, text)
    await client.saw(session, sessionUpdate="agent_message_chunk")
    return session, id


@requirement("V1-PROMPT-18", "V1-PROMPT-21", "V1-PROMPT-22", "V1-PROMPT-23", "V1-PROMPT-24")
@requirement("V1-CANCEL-09", "V2-CANC-01", "V2-CANC-02", "V2-CANC-03", "V2-CANC-04", "V2-CANC-06")
@everywhere
@pytest.mark.parametrize("text", SLOW)
@pytest.mark.requirement("SAFE-LIVE-01")
async def test_a_cancelled_turn_ends_as_cancelled_whatever_its_handler_does(
    version: int, over: str, text: str
) -> None:
    async with initialized(version, over) as client:
        session, id = await begun(client, text)
        client.cancel(session)
        turn = await client.ended(session, id, 0)
        assert (turn.stop_reason, turn.error) == ("cancelled", None)
        assert turn.text == ("begun" if text == "slow" else "begunlate")
        (call,) = turn.of("tool_call", "tool_call_update")[-1:]
        assert call["status"] == ("failed" if version == 1 else "cancelled")
        since = len(client.log)
        assert (await client.turn(session, "say on")).text == "on"
        states = [each for each in client.updates(session, since) if "state" in each]
        assert [each["state"] for each in states] == (["running", "idle"] if version == 2 else [])


@requirement("V1-TOOL-09")
async def test_cancelled_is_no_status_of_a_tool_in_version_1() -> None:
    async with initialized(1) as client:
        session, id = await begun(client, "slow")
        client.cancel(session)
        turn = await client.ended(session, id, 0)
        found = {each["status"] for each in turn.of("tool_call", "tool_call_update")}
        assert found <= {"pending", "in_progress", "completed", "failed"}


@requirement("V2-CANC-04", "V2-CANC-05")
@in_both_versions
@pytest.mark.parametrize("more", [{}, {"_meta": {"why": "x"}}, {"_meta": None}])
async def test_a_cancel_is_not_answered_with_meta_or_without(version: int, more: Any) -> None:
    async with initialized(version) as client:
        session, id = await begun(client, "slow")
        client.send(method="session/cancel", params={"sessionId": session, **more})
        assert (await client.ended(session, id, 0)).stop_reason == "cancelled"
        await client.call("session/list")
        responses = [each["id"] for each in client.log if "method" not in each]
        assert len(responses) == len(set(responses)) == 4


@requirement("V1-PROMPT-26", "V2-CANC-08")
@in_process
@pytest.mark.requirement("SAFE-LIVE-01")
async def test_cancelling_what_does_not_run_has_no_effect(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        await client.turn(session, "say one")
        since = len(client.log)
        client.cancel(session)
        client.cancel("nobody")
        await client.call("session/list")
        assert [each for each in client.log[since:] if "method" in each] == []
        turn = await client.turn(session, "say two")
        assert (turn.text, turn.stop_reason) == ("two", "end_turn")


@requirement("V1-PROMPT-27", "V1-SESS-05")
@in_both_versions
async def test_a_cancel_leaves_other_sessions_alone(version: int) -> None:
    async with initialized(version) as client:
        first, first_id = await begun(client, "slow")
        second, second_id = await begun(client, "slow")
        since = len(client.log)
        client.cancel(first)
        assert (await client.ended(first, first_id, 0)).stop_reason == "cancelled"
        assert client.updates(second, since) == []
        client.cancel(second)
        assert (await client.ended(second, second_id, 0)).stop_reason == "cancelled"


@requirement("V1-CANCEL-10", "V1-CANCEL-02")
async def test_a_prompt_of_version_1_whose_request_is_cancelled_ends_as_cancelled() -> None:
    async with initialized(1) as client:
        session, id = await begun(client, "slow")
        client.send(method="$/cancel_request", params={"requestId": id})
        turn = await client.ended(session, id, 0)
        assert turn.stop_reason == "cancelled" or turn.error["code"] == -32800
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V2-RQC-06")
async def test_cancelling_the_request_of_an_accepted_prompt_leaves_its_turn_alone() -> None:
    async with initialized(2) as client:
        session, id = await begun(client, "slow")
        since = len(client.log)
        client.send(method="$/cancel_request", params={"requestId": id})
        await client.call("session/list")
        assert client.updates(session, since) == []
        client.cancel(session)
        assert (await client.ended(session, id, 0)).stop_reason == "cancelled"


@requirement("V1-SESS-26", "V2-SESS-24")
@in_process
async def test_closing_a_session_cancels_its_turn_first(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session, id = await begun(client, "slow")
        closing = client.request("session/close", {"sessionId": session})
        response = await client.reply(closing)
        assert response["result"] == {}
        turn = await client.ended(session, id, 0)
        assert turn.stop_reason == "cancelled"
        assert client.log.index(turn.messages[-1]) < client.log.index(response)


@requirement("V1-CANCEL-11", "V1-CANCEL-03", "V1-PERM-08", "V2-RQC-05")
@in_both_versions
@pytest.mark.parametrize("response", ["cancelled", "error"])
@pytest.mark.requirement("SAFE-LIVE-01")
async def test_a_cancel_ends_a_turn_that_waits_for_permission(version: int, response: str) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        id = client.prompt(session, "ask")
        question = await client.requested("session/request_permission")
        client.cancel(session)
        if response == "cancelled":
            client.send(id=question["id"], result={"outcome": {"outcome": "cancelled"}})
        else:
            client.send(id=question["id"], error={"code": -32800, "message": "Cancelled"})
        turn = await client.ended(session, id, 0)
        assert (turn.stop_reason, turn.error) == ("cancelled", None)
        withdrawn = [each for each in client.log if each.get("method") == "$/cancel_request"]
        assert [each["params"]["requestId"] for each in withdrawn] in ([], [question["id"]])


@requirement("V1-TERM-15", "V1-TERM-01", "V1-TOOL-12", "V1-TERM-04")
@pytest.mark.requirement("SAFE-LIVE-01")
async def test_a_terminal_of_the_client_is_released_when_the_turn_is_cancelled() -> None:
    async with initialized(1, capabilities={"terminal": True}) as client:
        client.answers["terminal/create"] = lambda params: {"terminalId": "T"}
        client.answers["terminal/release"] = lambda params: {}
        session = await client.new_session("/project")
        id = client.prompt(session, "run")
        await client.requested("terminal/wait_for_exit")
        client.cancel(session)
        turn = await client.ended(session, id, 0)
        assert turn.stop_reason == "cancelled"
        calls = [each["method"] for each in client.log if "terminal/" in each.get("method", "")]
        assert calls == ["terminal/create", "terminal/wait_for_exit", "terminal/release"]
        (created,) = [each for each in client.log if each.get("method") == "terminal/create"]
        assert created["params"]["cwd"] == "/project"
        methods = [each.get("method") for each in client.log]
        shown = [
            place
            for place, each in enumerate(client.log)
            if {"type": "terminal", "terminalId": "T"} in contents(each)
        ]
        assert shown[0] < methods.index("terminal/release")


def contents(message: Any) -> list[Any]:
    """Return what a message about a tool call shows."""
    content = message.get("params", {}).get("update", {}).get("content", [])
    return [*content] if isinstance(content, list) else []
