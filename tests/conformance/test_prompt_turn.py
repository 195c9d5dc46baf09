"""Turns as an agent runs them: what is sent, in which order, and how each ends.

https://agentclientprotocol.com/protocol/v1/prompt-turn
https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .raw_client import RawClient, everywhere, in_both_versions, in_process, initialized

requirement = pytest.mark.requirement
REASONS = ["end_turn", "max_tokens", "max_turn_requests", "refusal"]


@requirement("TR-CUS-01")
@requirement("V1-PROMPT-03", "V1-PROMPT-06", "V1-PROMPT-08", "V1-PROMPT-09", "V2-DUAL-13")
@requirement("V2-PROMPT-03", "V2-PROMPT-08", "V2-PROMPT-15", "V1-CONTENT-01", "V2-PROMPT-02")
@in_process
async def test_a_turn_is_what_the_agent_says_and_then_its_end(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        turn = await client.turn(session, "say one two")
        assert (turn.text, turn.stop_reason, turn.error) == ("onetwo", "end_turn", None)
        if version == 1:
            assert turn.messages[-1] == turn.response
            assert turn.response["result"] == {"stopReason": "end_turn"}
        else:
            assert turn.response["result"].keys() == {"messageId"}
            assert turn.messages.index(turn.response) == 0
        sessions = {
            each["params"]["sessionId"] for each in turn.messages if each.get("method") is not None
        }
        assert sessions == {session}


@requirement("V2-PROMPT-03", "V2-PROMPT-04", "V2-PROMPT-07", "V2-PROMPT-08", "V2-MSG-01")
async def test_a_turn_of_version_2_reports_the_message_then_running_then_idle() -> None:
    async with initialized(2) as client:
        session = await client.new_session()
        turn = await client.turn(session, "say one two")
        message, running, *messages, idle = turn.updates
        assert message["sessionUpdate"] == "user_message"
        assert message["messageId"] == turn.response["result"]["messageId"]
        assert message["content"] == [{"type": "text", "text": "say one two"}]
        assert (running["state"], idle["state"], idle["stopReason"]) == (
            "running",
            "idle",
            "end_turn",
        )
        assert len({each["messageId"] for each in messages}) == 1
        again = await client.turn(session, "say three")
        ids = {each["messageId"] for each in again.of("user_message", "agent_message_chunk")}
        assert ids.isdisjoint({message["messageId"], messages[0]["messageId"]})


@requirement("V1-PROMPT-05", "V1-PROMPT-04", "V2-PROMPT-14")
@in_both_versions
@pytest.mark.parametrize("reason", REASONS)
async def test_a_turn_may_stop_for_a_reason(version: int, reason: str) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        assert (await client.turn(session, f"stop {reason}")).stop_reason == reason
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V2-PROMPT-13", "V1-PROMPT-04")
@in_both_versions
@pytest.mark.parametrize("reason", ["_own", "invented"])
async def test_an_own_reason_begins_with_an_underscore(version: int, reason: str) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        turn = await client.turn(session, f"stop {reason}")
        if version == 2:
            assert turn.stop_reason == ("_own" if reason == "_own" else "error")
        else:
            assert turn.stop_reason in {*REASONS, None}
            assert (turn.stop_reason is None) is (turn.error is not None)


@requirement("V2-DUAL-11")
async def test_a_reason_that_version_1_does_not_have_is_not_sent() -> None:
    async with initialized(1) as client:
        turn = await client.turn(await client.new_session(), "stop _own")
        assert turn.stop_reason != "_own"


@requirement("V1-RPC-09", "V2-PROMPT-08")
@in_process
async def test_an_error_of_the_program_is_told_as_it_is(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session = await client.new_session()
        turn = await client.turn(session, "boom")
        assert turn.error == {"code": -32050, "message": "It went boom", "data": {"detail": 42}}
        assert turn.stop_reason == (None if version == 1 else "error")
        hidden = await client.turn(session, "crash")
        assert (hidden.error["code"], "secret" in str(client.log)) == (-32603, False)
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-PROMPT-07", "V2-PROMPT-03")
@in_both_versions
async def test_what_is_said_is_sent_at_once(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        id = client.prompt(session, "slow")
        await client.saw(session, sessionUpdate="agent_message_chunk")
        has_response = any(each.get("id") == id for each in client.log)
        assert has_response is (version == 2)
        client.cancel(session)
        await client.ended(session, id, 0)


@requirement("V1-PROMPT-12", "V1-PROMPT-14", "V1-TOOL-01", "V1-TOOL-02", "V1-TOOL-03")
@requirement("V1-RPC-19", "V2-DIFF-01", "V2-SESS-03")
@requirement("TR-PRX-14")
@requirement("V1-TOOL-10", "V1-TOOL-11", "V1-TOOL-16", "V2-TOOL-02", "V2-TOOL-10")
@everywhere
async def test_a_tool_call_is_reported_from_its_begin_to_its_end(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        turn = await client.turn(await client.new_session("/project"), "tool")
        first, *rest = turn.of("tool_call", "tool_call_update", "tool_call_content_chunk")
        assert first["sessionUpdate"] == ("tool_call" if version == 1 else "tool_call_update")
        assert (first["title"], first["kind"], first["name"]) == ("Read a", "read", "read")
        assert (first["status"], first["rawInput"]) == ("in_progress", {"path": "/a"})
        assert first["locations"] == [{"path": "/a"}, {"path": "/project/sub/b"}]
        assert {each["toolCallId"] for each in rest} == {first["toolCallId"]}
        assert rest[-1]["status"] == "completed"
        diffs = [each for each in contents(rest) if each["type"] == "diff"]
        if version == 1:
            assert diffs[-1]["path"] == "/project/c"
            assert diffs[-1]["newText"] == "new\n"
            assert diffs[-1].get("oldText") is None
        else:
            change = {"operation": "add", "path": "/project/c", "fileType": "text"}
            assert diffs[-1]["changes"] == [change]


def contents(updates: list[Any]) -> list[Any]:
    """Return the content items of tool call updates."""
    items: list[Any] = []
    for each in updates:
        content = each.get("content", [])
        items += content if isinstance(content, list) else [content]
    return items


@requirement("V1-PROMPT-14", "V1-TOOL-02", "V1-TOOL-09")
@in_both_versions
async def test_a_tool_that_fails_is_reported_as_failed(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        ids: set[str] = set()
        for _ in range(2):
            turn = await client.turn(session, "failing")
            last = turn.of("tool_call_update")[-1]
            ids.add(last["toolCallId"])
            assert (last["status"], turn.text) == ("failed", "went on")
        assert len(ids) == 2


@requirement("V1-PROMPT-28", "V1-SESS-05", "V1-MODE-12")
@in_both_versions
async def test_a_prompt_goes_on_where_the_turn_before_ended(version: int) -> None:
    async with initialized(version) as client:
        session, other = await client.new_session(), await client.new_session()
        await client.turn(session, "say one")
        facts = await facts_of(client, session)
        assert facts["said"] == ["say one", "where"]
        assert (await facts_of(client, other))["said"] == ["where"]


async def facts_of(client: RawClient, session: str) -> Any:
    """Return what the agent knows about a session."""
    return json.loads((await client.turn(session, "where")).text)


@requirement("V2-PROMPT-16")
@in_both_versions
async def test_a_second_prompt_waits_for_the_first(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        first = client.prompt(session, "slow")
        await client.saw(session, sessionUpdate="agent_message_chunk")
        ids = [client.prompt(session, f"say {number}") for number in range(2)]
        if version == 2:
            for id in (first, *ids):
                assert "result" in await client.reply(id)
        client.cancel(session)
        if version == 1:
            responses = [await client.reply(id) for id in (first, *ids)]
            reasons = [response["result"]["stopReason"] for response in responses]
            assert reasons == ["cancelled"] * 3
        assert (await client.turn(session, "say on")).stop_reason is not None


@requirement("V1-PROMPT-15", "V1-PROMPT-16", "V1-PROMPT-32", "V1-PROMPT-33", "V2-PROMPT-18")
@requirement("V1-PROMPT-36", "V1-PROMPT-37", "V1-PROMPT-39", "V2-COMP-01", "V2-COMP-03")
@requirement("V1-SESS-50", "V2-SESS-35", "V2-NOTE-01")
@in_both_versions
async def test_usage_title_notices_and_compaction_are_reported(version: int) -> None:
    wanted: Any = {"session": {"compaction": {}, "notices": {}}}
    async with initialized(version, capabilities=wanted if version == 1 else {}) as client:
        turn = await client.turn(await client.new_session(), "report")
        (usage,) = turn.of("usage_update")
        assert (usage["used"], usage["size"]) == (5, 9)
        assert usage["cost"] == {"amount": 0.5, "currency": "EUR"}
        (info,) = turn.of("session_info_update")
        assert info["title"] == "T"
        assert info.keys() <= {"sessionUpdate", "title", "updatedAt"}
        (notice,) = turn.of("notice")
        assert (notice["severity"], notice["title"]) == ("error", "Look")
        compaction = turn.of("compaction_update", "compaction_summary_chunk")
        begun, summary, done = compaction
        assert (begun["status"], done["status"]) == ("in_progress", "completed")
        assert summary["content"]["text"] == "short"
        assert len({each["compactionId"] for each in compaction}) == 1
        assert "error" not in done


@requirement("V1-PROMPT-35", "V2-COMP-03", "V1-INIT-14")
async def test_a_client_of_version_1_that_wants_no_compaction_gets_none() -> None:
    async with initialized(1) as client:
        turn = await client.turn(await client.new_session(), "report")
        assert turn.of("compaction_update", "compaction_summary_chunk") == []
        assert turn.text == "reported"
