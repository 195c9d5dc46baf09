"""Plans, state, usage and the rest: what a transcript holds after which updates."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript import Transcript
from parley.session._transcript_entries import (
    CompactionEntry,
    SessionMessageEntry,
    SubagentEntry,
    TerminalEntry,
    ToolCallEntry,
)

from .test_transcript import chunk, folded, message, output, state, terminal, text, tool


def plan(id: str, *steps: str) -> dict[str, Any]:
    entries = [{"content": step, "priority": "high", "status": "pending"} for step in steps]
    return {"plan_update": {"plan": {"type": "items", "planId": id, "entries": entries}}}


def steps(transcript: Transcript, id: str) -> list[str]:
    held = transcript.plans[id]
    assert isinstance(held, v2.PlanItems)
    return [entry.content for entry in held.entries]


def compaction(status: str, **fields: Any) -> dict[str, Any]:
    return {"compaction_update": {"compactionId": "c", "status": status, **fields}}


def usage(used: int, **fields: Any) -> dict[str, Any]:
    return {"usage_update": {"used": used, "size": 100, **fields}}


def test_every_kind_of_session_update_can_be_folded() -> None:
    kinds = set(get_args(get_args(v2.SessionUpdate)[0]))
    assert len(kinds) == 23
    assert kinds | {v2.ToolCallUpdate, Unknown} == set(Transcript._folds)


@pytest.mark.parametrize(
    ("kind", "update", "apart"),
    [
        (ToolCallEntry, v2.ToolCallUpdated, {"tool_call_id"}),
        (TerminalEntry, v2.TerminalUpdate, {"terminal_id", "output"}),
        (SubagentEntry, v2.SubagentUpdate, {"session_id"}),
        (SessionMessageEntry, v2.SessionMessage, {"message_id", "content"}),
        (CompactionEntry, v2.CompactionUpdate, {"compaction_id", "summary"}),
    ],
)
def test_no_field_of_a_patch_is_forgotten(kind: Any, update: Any, apart: set[str]) -> None:
    assert {*kind.defaults, "meta", *apart} == set(update.__struct_fields__)


def test_what_is_no_session_update_is_refused() -> None:
    with pytest.raises(TypeError, match="Command is not a session update"):
        Transcript().fold(v2.Command(name="x", description=""))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_plan_is_replaced_whole_and_several_do_not_mix() -> None:
    transcript = folded(plan("a", "1", "2", "3"), plan("b", "x"), plan("a", "4"))
    assert (steps(transcript, "a"), steps(transcript, "b")) == (["4"], ["x"])
    folded({"plan_removed": {"planId": "a"}}, {"plan_removed": {"planId": "z"}}, into=transcript)
    assert list(transcript.plans) == ["b"]


def test_a_plan_of_another_type_replaces_what_its_id_had() -> None:
    transcript = folded(plan("a", "1"), plan("b", "2"), plan("c", "3"))
    others: list[dict[str, Any]] = [
        {"type": "markdown", "planId": "a", "content": "# Plan"},
        {"type": "file", "planId": "b", "uri": "file:///plan"},
        {"type": "_tree", "planId": "c", "root": {}},
        {"type": "_nameless"},
    ]
    for each in others:
        folded({"plan_update": {"plan": each}}, into=transcript)
    kinds = {id: type(held).__name__ for id, held in transcript.plans.items()}
    assert kinds == {"a": "PlanMarkdown", "b": "PlanFile", "c": "Unknown"}


def test_commands_and_config_options_are_whole_lists() -> None:
    one = {"type": "command", "name": "a", "description": "", "input": {"type": "_form"}}
    option = {"type": "boolean", "configId": "o", "name": "O", "currentValue": True}
    transcript = folded(
        {"available_commands_update": {"availableCommands": [one, {"type": "_macro"}]}},
        {"config_option_update": {"configOptions": [option]}},
    )
    command, macro = transcript.commands
    assert isinstance(command, v2.Command)
    assert isinstance(command.input, Unknown)
    assert isinstance(macro, Unknown)
    assert [type(each).__name__ for each in transcript.config_options] == ["SessionConfigBoolean"]
    folded(
        {"available_commands_update": {"availableCommands": []}},
        {"config_option_update": {"configOptions": []}},
        into=transcript,
    )
    assert (transcript.commands, transcript.config_options) == ([], [])


def test_what_is_known_about_the_session_is_patched() -> None:
    info = {"title": "T", "updatedAt": "2026-11-15T00:00:00Z", "_meta": {"a": 1}}
    transcript = folded({"session_info_update": info}, {"session_info_update": {}})
    assert transcript.title == "T"
    assert transcript.updated_at == "2026-11-15T00:00:00Z"
    untitled = {"session_info_update": {"title": None, "_meta": {"b": 2}}}
    again = folded(untitled, into=transcript)
    assert (again.title, again.meta) == (None, {"a": 1, "b": 2})
    undated = {"session_info_update": {"updatedAt": None, "_meta": None}}
    last = folded(undated, into=transcript)
    assert (last.updated_at, last.meta) == (None, None)


def test_a_cost_stays_until_another_report_names_it() -> None:
    transcript = folded(usage(1, cost={"amount": 0.5, "currency": "EUR"}), usage(2))
    assert transcript.usage is not None
    assert transcript.usage.used == 2
    assert transcript.cost == v2.Cost(amount=0.5, currency="EUR")
    assert folded(usage(3, cost=None), into=transcript).cost is None


def test_a_session_is_idle_until_it_says_otherwise() -> None:
    transcript = Transcript()
    assert (transcript.state, transcript.stop_reason, transcript.background) == ("idle", None, None)


def test_why_work_ended_is_known_until_new_work_begins() -> None:
    error = {"code": -32603, "message": "no model"}
    tokens = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
    transcript = folded(
        state("running"), state("idle", stopReason="error", error=error, usage=tokens)
    )
    assert transcript.error == v2.Error(code=-32603, message="no model")
    work = [{"type": "terminal", "terminalId": "s"}]
    folded(state("idle", background=work), into=transcript)
    assert (transcript.state, transcript.stop_reason) == ("idle", "error")
    assert transcript.tokens == v2.Usage(total_tokens=3, input_tokens=2, output_tokens=1)
    assert transcript.error is not None
    assert transcript.background == [v2.BackgroundTerminal(terminal_id="s")]
    busy = folded(state("requires_action", background=[]), into=transcript)
    assert (busy.state, busy.stop_reason) == ("requires_action", None)
    assert (busy.error, busy.tokens, busy.background) == (None, None, [])
    idle = folded(state("idle", stopReason="_bored"), into=transcript)
    assert (idle.stop_reason, idle.background) == ("_bored", None)
    assert folded(state("running", stopReason="end_turn"), into=transcript).stop_reason is None


def test_late_updates_do_not_change_the_state() -> None:
    transcript = folded(
        state("idle", stopReason="end_turn"), tool(status="completed"), chunk("m", "x")
    )
    assert (transcript.state, transcript.stop_reason) == ("idle", "end_turn")


def test_a_state_not_known_here_is_kept_and_is_not_idle() -> None:
    background = [{"type": "_job", "n": 1}, {"type": "tool_call", "toolCallId": "t"}]
    transcript = folded(
        state("idle", stopReason="end_turn"), state("_paused", background=background)
    )
    assert (transcript.state, transcript.stop_reason) == ("_paused", None)
    assert [type(each).__name__ for each in transcript.background or ()] == [
        "Unknown",
        "BackgroundToolCall",
    ]
    assert transcript.entries == []


def test_an_update_not_known_here_is_kept_in_its_place() -> None:
    unreadable = Unknown("_made_by_hand", b"[")
    transcript = folded(chunk("a", "1"), {"_gauge": {"value": 1.50}}, chunk("b", "2"), unreadable)
    first, gauge, second, last = transcript.entries
    assert [first, second] == transcript.messages
    assert isinstance(gauge, Unknown)
    assert gauge.payload == {"sessionUpdate": "_gauge", "value": 1.5}
    assert last is unreadable


def test_a_notice_leaves_no_trace() -> None:
    transcript = folded(state("running"), {"notice": {"severity": "error", "title": "Disk full"}})
    assert (transcript.state, transcript.entries) == ("running", [])


def test_a_compaction_has_a_place_and_a_summary() -> None:
    more = {"compaction_summary_chunk": {"compactionId": "c", "content": text("We talked")}}
    transcript = folded(chunk("a", "1"), compaction("in_progress"), more, chunk("b", "2"))
    only = transcript.compactions["c"]
    assert transcript.entries[1] is only
    assert (only.status, only.text) == ("in_progress", "We talked")
    folded(compaction("failed", error="too long", _meta={"k": 1}), into=transcript)
    assert (only.status, only.text, only.error) == ("failed", "We talked", "too long")
    folded(compaction("completed", summary=[text("Short")], error=None), into=transcript)
    assert (only.text, only.error, only.meta) == ("Short", None, {"k": 1})
    assert (
        folded(compaction("completed", summary=None), into=transcript).compactions["c"].text == ""
    )
    assert folded(more).compactions["c"].status == "in_progress"


def test_a_subagent_is_patched() -> None:
    def child(**fields: Any) -> dict[str, Any]:
        return {"subagent_update": {"sessionId": "child", **fields}}

    transcript = folded(child(title="T", state={"state": "running"}, additionalDirectories=[]))
    only = transcript.subagents["child"]
    folded(child(cwd="/w"), into=transcript)
    assert (only.title, only.cwd, only.additional_directories) == ("T", "/w", [])
    assert only.state == v2.RunningStateUpdate()
    cleared = child(state=None, additionalDirectories=None)
    same = folded(cleared, into=transcript).subagents["child"]
    assert same is only
    assert (same.state, same.additional_directories) == (None, None)
    assert transcript.entries == []


def test_a_message_between_sessions_is_streamed_and_patched() -> None:
    more = {"session_message_chunk": {"messageId": "m", "content": text("Hi")}}
    transcript = folded(more, message("m", "session_message", senderSessionId="a"))
    folded(message("m", "session_message", recipientSessionId="b"), more, into=transcript)
    only = transcript.session_messages["m"]
    assert (only.sender_session_id, only.recipient_session_id, only.text) == ("a", "b", "HiHi")
    assert transcript.entries == [only]
    assert transcript.messages == []


def test_the_text_of_a_turn_is_what_the_agent_said_since_the_user_spoke() -> None:
    transcript = folded(chunk("1", "old"), message("u", "user_message", content=[text("go")]))
    assert transcript.text == ""
    folded(
        chunk("2", "Let me "),
        chunk("t", "hmm", "agent_thought_chunk"),
        tool(),
        message("3", content=[]),
        chunk("4", "Done."),
        chunk("2", "look."),
        into=transcript,
    )
    assert transcript.text == "Let me look.\n\nDone."


def test_the_last_message_of_a_role_is_found() -> None:
    transcript = folded(chunk("a", "1"), chunk("b", "2"), chunk("t", "3", "agent_thought_chunk"))
    found = transcript.last_message()
    assert found is not None
    assert found.id == "b"
    assert transcript.last_message("thought") is transcript.messages[2]
    assert transcript.last_message("user") is None


def test_everything_shows_shortly_what_it_is() -> None:
    transcript = folded(
        chunk("m", "x" * 50),
        tool(title="Read\x1b[0m", kind="read"),
        output(b"123"),
        terminal(command="make"),
        compaction("completed", summary=[text("S")]),
        message("m", "session_message", senderSessionId="a", content=[text("Hi")]),
        {"subagent_update": {"sessionId": "child", "title": "T"}},
    )
    assert repr(transcript) == "Transcript(idle, 1 messages, 1 tool calls)"
    assert [repr(each) for each in transcript.entries] == [
        f"Message(agent 'm': '{'x' * 39}…')",
        r"ToolCall('t' read pending: 'Read\x1b[0m')",
        "Compaction('c' completed: 'S')",
        "SessionMessage('m' 'a' to None: 'Hi')",
    ]
    assert repr(transcript.terminals["s"]) == "Terminal('s' running, 3 bytes: 'make')"
    folded(terminal(exitStatus={"exitCode": 0}), into=transcript)
    assert repr(transcript.terminals["s"]) == "Terminal('s' exited, 3 bytes: 'make')"
    assert repr(transcript.subagents["child"]) == "Subagent('child': 'T')"


def refusing(**options: Any) -> Transcript:
    """Return what is left of a good turn, a refused one and the next."""
    transcript = Transcript(**options)
    messages: list[v2.SessionUpdate] = [
        v2.UserMessage(message_id="u1", content=[v2.TextContent(text="one")]),
        v2.AgentMessageChunk(message_id="a1", content=v2.TextContent(text="first")),
        v2.StateUpdated(state="idle", stop_reason="end_turn"),
        v2.UserMessage(message_id="u2", content=[v2.TextContent(text="two")]),
        v2.StateUpdated(state="running"),
        v2.ToolCallUpdated(tool_call_id="t", title="Look"),
        v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=[])),
        v2.AgentMessageChunk(message_id="a2", content=v2.TextContent(text="no")),
        v2.StateUpdated(state="idle", stop_reason="refusal"),
        v2.UserMessage(message_id="u3", content=[v2.TextContent(text="three")]),
    ]
    for update in messages:
        transcript.fold(update)
    return transcript


def test_an_agent_forgets_a_refused_prompt_and_what_followed() -> None:
    transcript = refusing(drops_refused=True)
    assert [each.text for each in transcript.messages] == ["one", "first", "three"]
    assert transcript.entries == transcript.messages
    again = Transcript()
    for update in transcript.replay():
        again.fold(update)
    assert [each.text for each in again.messages] == ["one", "first", "three"]
    assert list(again.plans) == ["p"]


def test_a_client_keeps_a_refused_prompt_and_knows_that_it_was_refused() -> None:
    transcript = refusing()
    assert [each.text for each in transcript.messages] == ["one", "first", "two", "no", "three"]
    refused = [each.text for each in transcript.messages if each in transcript.refused]
    assert refused == ["two", "no"]
    assert transcript.tool_calls["t"] in transcript.refused


def test_a_refusal_without_a_prompt_takes_nothing_back() -> None:
    transcript = Transcript(drops_refused=True)
    transcript.fold(v2.UserMessage(message_id="u", content=[v2.TextContent(text="one")]))
    transcript.fold(v2.StateUpdated(state="idle", stop_reason="end_turn"))
    transcript.fold(v2.StateUpdated(state="running"))
    transcript.fold(v2.StateUpdated(state="idle", stop_reason="refusal"))
    assert [each.text for each in transcript.messages] == ["one"]
    assert transcript.refused == []
