"""Properties that hold for every sequence of updates, and the cost of folding."""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from tests.work_counting import count_calls

from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import JsonObject, Unknown
from parley.session._transcript import Transcript

from .test_transcript import b64

T = TypeVar("T")


def maybe(values: st.SearchStrategy[T]) -> st.SearchStrategy[Any]:
    """Absent, null or a value."""
    return st.just(UNSET) | st.none() | values


ids = st.sampled_from(["a", "b", "é/ "])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
metas: st.SearchStrategy[JsonObject] = st.dictionaries(
    st.sampled_from("xyz"), st.none() | st.integers(0, 3) | st.just({"deep": None}), max_size=2
)
blocks = (
    st.builds(v2.TextContent, text=words)
    | st.builds(
        v2.TextContent,
        text=words,
        meta=metas,
        annotations=st.none() | st.builds(v2.Annotations, priority=st.just(0.5)),
    )
    | st.builds(v2.ImageContent, data=st.just("AA=="), mime_type=st.just("image/png"))
    | st.just(Unknown("_x", b'{"type":"_x","n":1.50}'))
)
contents = st.lists(blocks, max_size=3)
items = (
    st.builds(v2.Content, content=blocks)
    | st.builds(v2.Terminal, terminal_id=ids)
    | st.just(Unknown("_y", b'{"type":"_y"}'))
)
data = st.binary(max_size=4).map(b64)
background = st.none() | st.lists(
    st.builds(v2.BackgroundToolCall, tool_call_id=ids)
    | st.builds(v2.BackgroundTerminal, terminal_id=ids),
    max_size=2,
)

message_updates = st.one_of(
    *(
        st.builds(kind, message_id=ids, content=maybe(contents), meta=maybe(metas))
        for kind in (v2.UserMessage, v2.AgentMessage, v2.AgentThought)
    ),
    *(
        st.builds(kind, message_id=ids, content=blocks, meta=st.none() | metas)
        for kind in (v2.UserMessageChunk, v2.AgentMessageChunk, v2.AgentThoughtChunk)
    ),
)
tool_call_updates = st.builds(
    v2.ToolCallUpdated,
    tool_call_id=ids,
    name=maybe(words),
    title=maybe(words),
    kind=maybe(st.sampled_from(["read", "other", "_k"])),
    status=maybe(st.sampled_from(["pending", "in_progress", "completed", "_s"])),
    content=maybe(st.lists(items, max_size=2)),
    locations=maybe(st.lists(st.builds(v2.ToolCallLocation, path=words), max_size=2)),
    raw_input=maybe(st.booleans() | metas | st.lists(st.integers(), max_size=2)),
    raw_output=maybe(words),
    capabilities=maybe(st.builds(v2.ToolCallCapabilities)),
    meta=maybe(metas),
)
terminal_updates = st.builds(
    v2.TerminalUpdate,
    terminal_id=ids,
    command=maybe(words),
    cwd=maybe(words),
    output=maybe(st.builds(v2.TerminalOutput, data=data)),
    exit_status=maybe(st.builds(v2.TerminalExitStatus, exit_code=st.none() | st.integers(0, 2))),
    size=maybe(st.builds(v2.TerminalSize, cols=st.just(80), rows=st.just(24))),
    capabilities=maybe(st.builds(v2.TerminalCapabilities)),
    meta=maybe(metas),
)
subagent_updates = st.builds(
    v2.SubagentUpdate,
    session_id=ids,
    title=maybe(words),
    description=maybe(words),
    capabilities=maybe(st.builds(v2.SubagentSessionCapabilities)),
    state=maybe(st.builds(v2.RunningStateUpdate)),
    cwd=maybe(words),
    additional_directories=maybe(st.lists(words, max_size=1)),
    meta=maybe(metas),
)
session_messages = st.builds(
    v2.SessionMessage,
    message_id=ids,
    sender_session_id=maybe(ids),
    recipient_session_id=maybe(ids),
    sender_message_id=maybe(ids),
    recipient_message_id=maybe(ids),
    content=maybe(contents),
    meta=maybe(metas),
)
plans = (
    st.builds(v2.PlanItems, plan_id=ids, entries=st.just([]))
    | st.builds(v2.PlanMarkdown, plan_id=ids, content=words)
    | st.just(Unknown("_z", b'{"type":"_z","planId":"a"}'))
)
other_updates = st.one_of(
    st.builds(v2.ToolCallContentChunk, tool_call_id=ids, content=items),
    st.builds(v2.TerminalOutputChunk, terminal_id=ids, data=data),
    st.builds(v2.SessionMessageChunk, message_id=ids, content=blocks),
    st.builds(
        v2.CompactionUpdate,
        compaction_id=ids,
        status=st.sampled_from(["in_progress", "completed"]),
        summary=maybe(contents),
        error=maybe(words),
        meta=maybe(metas),
    ),
    st.builds(v2.CompactionSummaryChunk, compaction_id=ids, content=blocks),
    st.builds(v2.PlanUpdate, plan=plans),
    st.builds(v2.PlanRemoved, plan_id=ids),
    st.builds(v2.SessionInfoUpdate, title=maybe(words), updated_at=maybe(words), meta=maybe(metas)),
    st.builds(
        v2.UsageUpdate,
        used=st.integers(0, 9),
        size=st.just(9),
        cost=maybe(st.builds(v2.Cost, amount=st.just(1.0), currency=st.just("EUR"))),
        meta=st.none() | metas,
    ),
    st.builds(
        v2.StateUpdated,
        state=st.sampled_from(["running", "idle", "requires_action"]),
        stop_reason=st.none() | st.just("end_turn"),
        background=background,
    ),
    st.builds(v2.Notice, severity=st.just("info"), title=st.just("N")),
    st.builds(v2.AvailableCommandsUpdate, available_commands=st.just([])),
    st.just(Unknown("_u", b'{"sessionUpdate":"_u"}')),
    st.just(Unknown("_s", b'{"sessionUpdate":"state_update","state":"_s"}')),
)
sequences: st.SearchStrategy[list[v2.SessionUpdate]] = st.lists(
    st.one_of(
        message_updates,
        tool_call_updates,
        terminal_updates,
        subagent_updates,
        session_messages,
        other_updates,
    ),
    max_size=25,
)


def as_json(value: object) -> Any:
    return msgspec.json.decode(encode(value))


def without_nulls(value: JsonObject) -> JsonObject:
    return {key: part for key, part in value.items() if part is not None}


def patched(held: JsonObject, update: JsonObject) -> JsonObject:
    """Apply a patch as the specification words it, on plain JSON."""
    merged = held | update
    if update.get("_meta") is not None:
        merged["_meta"] = without_nulls(held.get("_meta", {}) | update["_meta"])
    return without_nulls(merged)


ROLES = {"user_message": "user", "agent_message": "agent", "agent_thought": "thought"}


@settings(deadline=None)
@given(st.lists(message_updates, max_size=20))
def test_messages_are_what_the_specification_says_done_the_slow_way(
    updates: list[v2.SessionUpdate],
) -> None:
    model: dict[tuple[str, str], JsonObject] = {}
    transcript = Transcript()
    for update in updates:
        transcript.fold(update)
        json = as_json(update)
        kind = json.pop("sessionUpdate")
        key = (ROLES[kind.removesuffix("_chunk")], json["messageId"])
        held = model.get(key, {})
        if kind.endswith("_chunk"):
            json = {"messageId": key[1], "content": [*held.get("content", []), json["content"]]}
        model[key] = patched(held, json)
        texts: dict[tuple[str, str], str] = {
            (each.role, each.id): each.text for each in transcript.messages
        }
        parts = model[key].get("content", [])
        assert texts[key] == "".join(part["text"] for part in parts if part["type"] == "text")
    assert [
        {"messageId": each.id, "content": as_json(each.content), "_meta": each.meta}
        for each in transcript.messages
    ] == [{"content": [], "_meta": None, **held} for held in model.values()]


@settings(deadline=None)
@given(st.lists(tool_call_updates | terminal_updates | subagent_updates, max_size=12))
def test_patches_are_what_the_specification_says_done_the_slow_way(
    updates: list[v2.SessionUpdate],
) -> None:
    model: dict[tuple[str, str], JsonObject] = {}
    transcript = Transcript()
    for update in updates:
        transcript.fold(update)
        json = as_json(update)
        key = (json["sessionUpdate"], next(json[name] for name in IDS if name in json))
        model[key] = patched(model.get(key, {}), json)
    replayed = {
        (json["sessionUpdate"], next(json[name] for name in IDS if name in json)): json
        for json in map(as_json, transcript.replay())
        if json["sessionUpdate"] != "state_update"
    }
    assert replayed == {key: without_defaults(held) for key, held in model.items()}


IDS = ("toolCallId", "terminalId", "sessionId")


def without_defaults(held: JsonObject) -> JsonObject:
    """Write a model as a replay writes it."""
    if held["sessionUpdate"] == "terminal_update":
        return {"output": {"data": ""}, **held}
    if held["sessionUpdate"] == "subagent_update":
        return held
    defaults: JsonObject = {"kind": "other", "status": "pending", "content": [], "locations": []}
    return {key: part for key, part in held.items() if part != defaults.get(key)}


@settings(deadline=None)
@given(sequences)
def test_folding_changes_no_update(updates: list[v2.SessionUpdate]) -> None:
    before = [encode(update) for update in updates]
    transcript = Transcript()
    for update in updates:
        transcript.fold(update)
    transcript.cancel_unfinished()
    assert [encode(update) for update in updates] == before


@settings(deadline=None)
@given(sequences)
def test_a_transcript_agrees_with_itself(updates: list[v2.SessionUpdate]) -> None:
    transcript = Transcript()
    for update in updates:
        earlier = list(transcript.entries)
        transcript.fold(update)
        assert transcript.entries[: len(earlier)] == earlier
    known: list[Any] = [*transcript.messages, *transcript.tool_calls.values()]
    known += [*transcript.compactions.values(), *transcript.session_messages.values()]
    kept = [each for each in transcript.entries if not isinstance(each, Unknown)]
    assert sorted(map(id, kept)) == sorted(map(id, known))
    assert [each for each in kept if each in transcript.messages] == transcript.messages
    assert all(each.id == id for id, each in transcript.terminals.items())


@settings(deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(0, 60), max_size=8), st.integers(0, 70))
@example("a😀é".encode() * 4, [2, 3, 4, 9], 11)
def test_output_is_the_same_however_it_is_cut(output: bytes, cuts: list[int], limit: int) -> None:
    transcript, limited = Transcript(), Transcript(terminal_limit_bytes=limit)
    marks = [0, *sorted(cuts), len(output)]
    for start, end in itertools.pairwise(marks):
        chunk = v2.TerminalOutputChunk(terminal_id="s", data=b64(output[start:end]))
        transcript.fold(chunk)
        limited.fold(chunk)
    exited = v2.TerminalUpdate(terminal_id="s", exit_status=v2.TerminalExitStatus())
    transcript.fold(exited)
    assert transcript.terminals["s"].text == output.decode(errors="replace")
    tail = limited.terminals["s"]
    assert len(tail.output) <= limit
    assert output.endswith(tail.output)
    assert len(tail.output) + tail.dropped_bytes == len(output)


def chunks(count: int, content: v2.ContentBlock) -> list[v2.AgentMessageChunk]:
    return [v2.AgentMessageChunk(message_id="m", content=content) for _ in range(count)]


def test_a_chunk_costs_the_same_however_long_its_message_is() -> None:
    transcript = Transcript()
    block = v2.TextContent(text="x")
    hundred, many = chunks(100, block), chunks(20_000, block)

    def fold(updates: list[v2.AgentMessageChunk]) -> None:
        for update in updates:
            transcript.fold(update)

    fold(hundred)
    content = transcript.messages[0].content
    early = count_calls(lambda: fold(hundred))
    fold(many)
    late = count_calls(lambda: fold(hundred))
    assert early == late
    assert late < 100 * 5
    assert transcript.messages[0].content is content
    assert all(each is block for each in content)


class CountedText(v2.TextContent, tag_field="type", tag="text"):
    """A text block that counts how often its text is read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "text":
            reads.append(name)
        return super().__getattribute__(name)


reads: list[str] = []


def test_reading_the_text_after_every_chunk_looks_at_each_block_once() -> None:
    reads.clear()
    transcript = Transcript()
    for update in chunks(500, CountedText(text="x")):
        transcript.fold(update)
        assert transcript.text == transcript.messages[0].text
    assert len(transcript.text) == 500
    assert len(reads) == 500
