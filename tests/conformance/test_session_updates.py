"""Updates that are neither messages nor tools: state, usage, title, notices, compaction.

https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.schema import v1, v2
from parley.schema.base import Unknown, is_extension
from parley.session._v1_session_downgrader import downgrade_turn_end

from .raw_client import talking_to
from .transcripts import TranscriptReader, transcript_after
from .wire_values import chunk, is_refused, read, text, update, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])
UPDATES: dict[int, Any] = {1: v1.SessionUpdate, 2: v2.SessionUpdate}


def state(word: str, **more: Any) -> Any:
    return update("state_update", state=word, **more)


@requirement("V1-PROMPT-15", "V1-PROMPT-16", "V2-PROMPT-18")
@in_both_versions
def test_usage_has_both_numbers_and_cost_an_amount_and_a_currency(version: int) -> None:
    tp = UPDATES[version]
    full = update("usage_update", used=5, size=9, cost={"amount": 0.5, "currency": "EUR"})
    assert write(read(tp, full)) == full
    for wrong in ({"used": 5}, {"size": 9}, {"used": None, "size": 9}, {"used": -1, "size": 9}):
        assert is_refused(tp, update("usage_update", **wrong))
    known = transcript_after(version, update("usage_update", used=5, size=9, cost={"amount": 1}))
    assert (known.usage is not None, known.cost) == (True, None)


@requirement("V1-SESS-49")
@in_both_versions
def test_a_title_stays_is_cleared_or_replaced(version: int) -> None:
    client = TranscriptReader(version)
    for fields, expected in (
        ({"title": "A"}, "A"),
        ({}, "A"),
        ({"title": "B"}, "B"),
        ({"title": None}, None),
    ):
        assert client.receive(update("session_info_update", **fields)).title == expected


@requirement("V1-PROMPT-33", "V1-PROMPT-34", "V2-NOTE-01", "V2-NOTE-02", "V1-EXT-14")
@in_both_versions
@pytest.mark.parametrize("severity", ["info", "warning", "error", "_x", "fatal"])
def test_a_notice_changes_nothing_whatever_its_severity(version: int, severity: str) -> None:
    notice = update("notice", severity=severity, title="Look")
    assert write(read(UPDATES[version], notice)) == notice
    before, after = (
        transcript_after(version, chunk("a")),
        transcript_after(version, chunk("a"), notice),
    )
    assert [each.text for each in after.messages] == [each.text for each in before.messages]
    assert (after.state, after.error, len(after.entries)) == (before.state, None, 1)
    assert is_refused(UPDATES[version], update("notice", severity=severity))
    assert is_refused(UPDATES[version], update("notice", title="Look"))


@requirement("V1-PROMPT-38", "V2-COMP-02")
@in_both_versions
def test_fields_of_a_compaction_stay_are_cleared_or_replaced(version: int) -> None:
    client = TranscriptReader(version)
    steps: list[tuple[Any, str, str]] = [
        (update("compaction_update", compactionId="c", status="in_progress"), "in_progress", ""),
        (
            update("compaction_summary_chunk", compactionId="c", content=text("A")),
            "in_progress",
            "A",
        ),
        (
            update("compaction_summary_chunk", compactionId="c", content=text("B")),
            "in_progress",
            "AB",
        ),
        (update("compaction_update", compactionId="c", status="_half"), "_half", "AB"),
        (
            update("compaction_update", compactionId="c", status="_half", summary=[text("C")]),
            "_half",
            "C",
        ),
        (update("compaction_update", compactionId="c", status="_half", summary=[]), "_half", ""),
        (
            update("compaction_update", compactionId="c", status="completed", summary=[text("D")]),
            "completed",
            "D",
        ),
        (
            update("compaction_update", compactionId="c", status="completed", summary=None),
            "completed",
            "",
        ),
    ]
    for step, status, summary in steps:
        known = client.receive(step).compactions["c"]
        assert (known.status, known.text) == (status, summary)


@requirement("V1-PROMPT-40")
async def test_usage_of_a_prompt_needs_three_numbers() -> None:
    full = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    agent = Agent("counting")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        turn.usage = read(v2.Usage, full)

    async with talking_to(agent) as client:
        await client.initialize(1)
        turn = await client.turn(await client.new_session(), "go")
        assert turn.response["result"]["usage"] == full
    for name in full:
        assert is_refused(v1.Usage, {key: full[key] for key in full if key != name})


@requirement("V1-PROMPT-04")
def test_an_agent_of_version_1_sends_five_stop_reasons_and_a_client_reads_any() -> None:
    five = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
    for reason in five:
        assert read(v1.PromptResponse, {"stopReason": reason}).stop_reason == reason
        assert (
            downgrade_turn_end(v2.StateUpdated(state="idle", stop_reason=reason)).stop_reason
            == reason
        )
    for other in ("_own", "later", ""):
        assert read(v1.PromptResponse, {"stopReason": other}).stop_reason == other
        assert (
            downgrade_turn_end(v2.StateUpdated(state="idle", stop_reason=other)).stop_reason in five
        )
    wrong: list[Any] = [None, 5, ["end_turn"]]
    for no_text in wrong:
        assert is_refused(v1.PromptResponse, {"stopReason": no_text})


@requirement("V2-PROMPT-12", "V2-PROMPT-13", "V2-ENUM-01")
@pytest.mark.parametrize(("word", "is_own"), [("_paused", True), ("future_state", False)])
def test_unknown_states_and_stop_reasons_are_kept_and_are_not_idle(word: str, is_own: bool) -> None:
    value = state(word, more=[1])
    seen = read(v2.SessionUpdate, value)
    assert isinstance(seen, Unknown)
    assert (seen.tag, write(seen), is_extension(word)) == (word, value, is_own)
    known = transcript_after(2, state("running"), value)
    assert (known.state, known.stop_reason) == (word, None)
    ended = transcript_after(2, state("running"), state("idle", stopReason=word))
    assert (ended.state, ended.stop_reason) == ("idle", word)


@requirement("V2-PROMPT-10", "V2-PROMPT-11")
def test_updates_count_at_any_time_and_do_not_change_the_state() -> None:
    known = transcript_after(
        2,
        chunk("early"),
        state("running"),
        state("idle", stopReason="end_turn"),
        update("tool_call_update", toolCallId="late", status="completed"),
        chunk("later", "n"),
    )
    assert (known.state, known.stop_reason) == ("idle", "end_turn")
    assert known.tool_calls["late"].status == "completed"
    assert [each.text for each in known.messages] == ["early", "later"]


@requirement("V1-PROMPT-10", "V1-PROMPT-11", "V1-RPC-28")
@pytest.mark.parametrize("none", [{}, {"messageId": None}, {"messageId": 5}])
def test_in_version_1_chunks_of_one_id_are_one_message(none: dict[str, Any]) -> None:
    def piece(words: str, **id: Any) -> Any:
        return update("agent_message_chunk", content=text(words), **id)

    odd = " \u202e/"
    given = transcript_after(
        1, piece("a", messageId=odd), piece("b", messageId=odd), piece("c", messageId="n")
    )
    assert [(each.id, each.text) for each in given.messages] == [(odd, "ab"), ("n", "c")]
    unnamed = transcript_after(1, piece("a", **none), piece("b", **none))
    assert [each.text for each in unnamed.messages] == ["ab"]
