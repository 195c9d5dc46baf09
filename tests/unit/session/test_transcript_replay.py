"""The replay of a transcript rebuilds the same conversation."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import given, settings

from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown
from parley.session._transcript import Entry, Transcript

from .test_transcript import chunk, folded, message, output, snapshot, state, terminal, text, tool
from .test_transcript_properties import sequences


def replayed(transcript: Transcript) -> list[Any]:
    """The replay as plain JSON, as a client sees it."""
    return [msgspec.json.decode(encode(update)) for update in transcript.replay()]


def told_again(transcript: Transcript) -> Transcript:
    """Send a replay over the wire into a new transcript."""
    raw = [encode(update) for update in transcript.replay()]
    return folded(*(decode(v2.SessionUpdate, each) for each in raw))


IDLE = {"sessionUpdate": "state_update", "state": "idle"}


def test_an_empty_conversation_is_an_idle_session() -> None:
    assert replayed(Transcript()) == [IDLE]


def test_a_message_that_came_whole_is_sent_whole() -> None:
    prompt = {"messageId": "u", "content": [text("a"), text("b")], "_meta": {"k": 1}}
    assert replayed(folded({"user_message": prompt})) == [
        {"sessionUpdate": "user_message", **prompt},
        IDLE,
    ]


def test_a_streamed_message_is_opened_by_an_empty_one_and_its_text_is_joined() -> None:
    transcript = folded(
        message("m", content=[text("a")], _meta={"k": 1}),
        *(chunk("m", words, _meta={"of": "chunk"}) for words in "bcd"),
        {"agent_message_chunk": {"messageId": "m", "content": text("e", _meta={"kept": 1})}},
        chunk("m", "f"),
    )
    opened, *pieces, idle = replayed(transcript)
    assert opened == {
        "sessionUpdate": "agent_message",
        "messageId": "m",
        "content": [],
        "_meta": {"k": 1},
    }
    assert pieces == [
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": each}
        for each in (text("abcd"), text("e", _meta={"kept": 1}), text("f"))
    ]
    assert idle == IDLE


def test_pieces_of_text_stay_small() -> None:
    transcript = folded(*(chunk("m", "x" * 1000) for _ in range(20)), chunk("m", "y" * 9000))
    sizes = [len(each["content"]["text"]) for each in replayed(transcript)[1:-1]]
    assert sizes == [8000, 8000, 4000, 9000]


def test_a_message_that_was_cleared_is_sent_empty() -> None:
    assert replayed(folded(chunk("m", "x"), message("m", content=None)))[0]["content"] == []


def test_the_conversation_comes_in_order_after_what_it_refers_to() -> None:
    transcript = folded(
        {"notice": {"severity": "info", "title": "Not history"}},
        message("u", "user_message", content=[text("go")]),
        chunk("t", "hm", "agent_thought_chunk"),
        tool(title="Run", content=[{"type": "terminal", "terminalId": "s"}]),
        {"_gauge": {"value": 1}},
        output(b"early"),
        terminal(command="make", exitStatus={"exitCode": 2}),
        {"compaction_update": {"compactionId": "c", "status": "in_progress"}},
        {"compaction_summary_chunk": {"compactionId": "c", "content": text("S")}},
        {"compaction_summary_chunk": {"compactionId": "c", "content": text("um")}},
        {"plan_update": {"plan": {"type": "_tree", "planId": "p"}}},
        {"subagent_update": {"sessionId": "child", "title": "T"}},
        {"session_message_chunk": {"messageId": "m", "content": text("Hi")}},
        message("m", "session_message", recipientSessionId="child"),
        {"usage_update": {"used": 1, "size": 9, "cost": {"amount": 1.0, "currency": "EUR"}}},
        {"usage_update": {"used": 2, "size": 9}},
        {"session_info_update": {"title": "Making"}},
        {"available_commands_update": {"availableCommands": []}},
        {"config_option_update": {"configOptions": []}},
        tool(status="failed"),
        state("running", background=[{"type": "terminal", "terminalId": "s"}]),
    )
    sent = replayed(transcript)
    assert [each["sessionUpdate"] for each in sent] == [
        "subagent_update",
        "terminal_update",
        "user_message",
        "agent_thought",
        "agent_thought_chunk",
        "tool_call_update",
        "_gauge",
        "compaction_update",
        "plan_update",
        "session_message",
        "session_message_chunk",
        "session_info_update",
        "usage_update",
        "state_update",
    ]
    by_kind = {each.pop("sessionUpdate"): each for each in sent}
    assert by_kind["terminal_update"] == {
        "terminalId": "s",
        "command": "make",
        "exitStatus": {"exitCode": 2},
        "output": {"data": "ZWFybHk="},
    }
    assert by_kind["tool_call_update"] == {
        "toolCallId": "t",
        "title": "Run",
        "status": "failed",
        "content": [{"type": "terminal", "terminalId": "s"}],
    }
    assert by_kind["compaction_update"]["status"] == "in_progress"
    assert by_kind["compaction_update"]["summary"] == [text("Sum")]
    assert by_kind["session_message"]["recipientSessionId"] == "child"
    assert by_kind["plan_update"]["plan"] == {"type": "_tree", "planId": "p"}
    assert by_kind["usage_update"]["cost"] == {"amount": 1.0, "currency": "EUR"}
    assert by_kind["state_update"] == {"state": "idle"}


def test_a_replay_that_was_taken_does_not_change_afterwards() -> None:
    transcript = folded(message("m", content=[text("a")]), tool(content=[]), snapshot(b"x"))
    taken = list(transcript.replay())
    before = [encode(update) for update in taken]
    item = {"type": "content", "content": text("later")}
    folded(
        chunk("m", "b"),
        {"tool_call_content_chunk": {"toolCallId": "t", "content": item}},
        output(b"y"),
        into=transcript,
    )
    assert [encode(update) for update in taken] == before


def joined(content: list[Any]) -> list[Any]:
    """Join what is nothing but text; empty text is nothing."""
    parts: list[Any] = []
    for is_plain, run in itertools.groupby(content, lambda part: part.keys() == {"type", "text"}):
        blocks = list(run)
        parts += [text("".join(part["text"] for part in blocks))] if is_plain else blocks
    return [part for part in parts if part != text("")]


def held(entry: Any) -> Any:
    """Everything that an object holds, as JSON where it has types of the protocol."""
    if isinstance(entry, Unknown):
        return entry
    names = [name for kind in type(entry).__mro__ for name in getattr(kind, "__slots__", ())]
    values = {name: getattr(entry, name) for name in names if not name.startswith("_")}
    for name in ("text", "output"):
        values[name] = getattr(entry, name, None)
    json = msgspec.json.decode(encode({**values, "output": None, "dropped_bytes": None}))
    if "role" in values or "text" in values:
        json["content"] = joined(json.get("content", []))
    return type(entry), values["output"], json


def conversation(transcript: Transcript) -> dict[str, Any]:
    """Everything about a transcript that a replay tells."""
    entries: list[Entry] = transcript.entries
    return {
        "entries": [held(entry) for entry in entries],
        "messages": [held(entry) for entry in transcript.messages],
        "terminals": {id: held(each) for id, each in transcript.terminals.items()},
        "subagents": {id: held(each) for id, each in transcript.subagents.items()},
        "tool_calls": {id: held(each) for id, each in transcript.tool_calls.items()},
        "plans": transcript.plans,
        "info": (transcript.title, transcript.updated_at, transcript.meta),
        "context": transcript.usage and (transcript.usage.used, transcript.usage.size),
        "cost": transcript.cost,
        "text": transcript.text,
    }


def test_plans_at_one_place_are_sent_in_the_order_they_came() -> None:
    plans = [v2.PlanUpdate(plan=v2.PlanItems(plan_id=each, entries=[])) for each in "bac"]
    sent = replayed(folded(*plans))[:-1]
    assert [update["plan"]["planId"] for update in sent] == ["b", "a", "c"]


@settings(deadline=None)
@given(sequences)
def test_a_conversation_replayed_is_the_same(updates: list[v2.SessionUpdate]) -> None:
    transcript = folded(*updates)
    again = told_again(transcript)
    assert conversation(again) == conversation(transcript)
    assert (again.state, again.stop_reason, again.background) == ("idle", None, None)
    assert replayed(again) == replayed(transcript)


@settings(deadline=None)
@given(sequences, sequences)
def test_a_conversation_continues_after_it_was_replayed(
    before: list[v2.SessionUpdate], after: list[v2.SessionUpdate]
) -> None:
    transcript = folded(*before)
    again = told_again(transcript)
    assert conversation(folded(*after, into=again)) == conversation(folded(*after, into=transcript))


@settings(deadline=None)
@given(sequences)
def test_no_chunk_is_replayed_before_its_message_was_opened_empty(
    updates: list[v2.SessionUpdate],
) -> None:
    opened: set[tuple[str, str]] = set()
    for update in replayed(folded(*updates)):
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            assert (kind.removesuffix("_chunk"), update["messageId"]) in opened
        elif update.get("content") == []:
            opened.add((kind, update["messageId"]))
