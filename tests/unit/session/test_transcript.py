"""Messages, tool calls and terminals: what a transcript holds after which updates."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema.base import Unknown
from parley.session._transcript import Transcript


def folded(
    *updates: dict[str, Any] | v2.SessionUpdate, into: Transcript | None = None
) -> Transcript:
    """Fold updates as they come over the wire; the first key is `sessionUpdate`'s value."""
    transcript = Transcript() if into is None else into
    for update in updates:
        if isinstance(update, dict):
            kind = next(iter(update))
            raw = msgspec.json.encode({"sessionUpdate": kind, **update[kind]})
            update = decode(v2.SessionUpdate, raw)
        transcript.fold(update)
    return transcript


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def chunk(id: str, words: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    return {kind: {"messageId": id, "content": text(words), **more}}


def message(id: str, kind: str = "agent_message", **fields: Any) -> dict[str, Any]:
    return {kind: {"messageId": id, **fields}}


def tool(id: str = "t", **fields: Any) -> dict[str, Any]:
    return {"tool_call_update": {"toolCallId": id, **fields}}


def terminal(id: str = "s", **fields: Any) -> dict[str, Any]:
    return {"terminal_update": {"terminalId": id, **fields}}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def snapshot(data: bytes) -> dict[str, Any]:
    return terminal(output={"data": b64(data)})


def output(data: bytes, id: str = "s") -> dict[str, Any]:
    return {"terminal_output_chunk": {"terminalId": id, "data": b64(data)}}


def state(word: str, **fields: Any) -> dict[str, Any]:
    return {"state_update": {"state": word, **fields}}


# Messages


def test_a_whole_message_replaces_and_chunks_append() -> None:
    transcript = folded(message("m", content=[text("A")]), chunk("m", "B"))
    (only,) = transcript.messages
    assert [only.text, len(only.content)] == ["AB", 2]
    folded(message("m", content=[text("C")]), chunk("m", "D"), into=transcript)
    assert only.content == [v2.TextContent(text="C"), v2.TextContent(text="D")]
    assert only.text == "CD"
    folded(message("m"), into=transcript)
    assert only.text == "CD"
    folded(message("m", content=None), into=transcript)
    assert only.content == []
    assert only.text == ""
    folded(chunk("m", "E"), message("m", content=[]), into=transcript)
    assert only.content == []
    assert transcript.entries == [only]


def test_a_chunk_of_an_unseen_id_begins_a_message() -> None:
    transcript = folded(chunk("m", "first"), message("m"), chunk("m", ", second"))
    assert [each.text for each in transcript.messages] == ["first, second"]


def test_messages_interleave_and_keep_the_place_where_they_began() -> None:
    transcript = folded(chunk("a", "1"), chunk("b", "2"), chunk("a", "3"), chunk("b", "4"))
    assert [(each.id, each.text) for each in transcript.messages] == [("a", "13"), ("b", "24")]


def test_ids_are_opaque_and_belong_to_their_kind_of_thing() -> None:
    odd = " \n‮\0é/../"
    transcript = folded(
        chunk(odd, "said"),
        chunk(odd, "thought", "agent_thought_chunk"),
        chunk(odd, "asked", "user_message_chunk"),
        tool(odd),
        output(b"shown", odd),
        message(odd, "session_message", content=[text("sent")]),
    )
    assert {each.role: each.text for each in transcript.messages} == {
        "agent": "said",
        "thought": "thought",
        "user": "asked",
    }
    assert transcript.tool_calls[odd].content == []
    assert transcript.terminals[odd].text == "shown"
    assert transcript.session_messages[odd].text == "sent"
    assert len(transcript.entries) == 5


@pytest.mark.parametrize(
    ("kind", "role"),
    [("user_message", "user"), ("agent_message", "agent"), ("agent_thought", "thought")],
)
def test_a_message_has_the_role_of_its_update(kind: str, role: str) -> None:
    transcript = folded(message("m", kind, content=[text("x")]), chunk("m", "y", f"{kind}_chunk"))
    assert [(each.role, each.text) for each in transcript.messages] == [(role, "xy")]


def test_metadata_is_patched_by_key_and_a_chunk_has_its_own() -> None:
    transcript = folded(message("m", _meta={"a": {"x": 1}, "b": 2, "c": None}))
    (only,) = transcript.messages
    assert only.meta == {"a": {"x": 1}, "b": 2}
    folded(chunk("m", "x", _meta={"b": 9}), message("m", content=[]), into=transcript)
    assert only.meta == {"a": {"x": 1}, "b": 2}
    folded(message("m", _meta={"a": {"y": 1}, "b": None, "d": 4}), into=transcript)
    assert only.meta == {"a": {"y": 1}, "d": 4}
    folded(message("m", _meta=None), into=transcript)
    assert only.meta is None


def test_blocks_of_any_kind_are_kept_and_only_text_is_read() -> None:
    unknown = {"type": "_hologram", "data": "x"}
    link = {"type": "resource_link", "name": "n", "uri": "file:///n"}
    transcript = folded(message("m", content=[text("a"), unknown, link]), chunk("m", "b"))
    (only,) = transcript.messages
    assert isinstance(only.content[1], Unknown)
    assert isinstance(only.content[2], v2.ResourceLink)
    assert only.text == "ab"


def test_an_update_is_not_changed_by_what_comes_after_it() -> None:
    first = v2.AgentMessage(message_id="m", content=[v2.TextContent(text="a")], meta={"k": 1})
    second = v2.ToolCallUpdated(tool_call_id="t", content=[], locations=[])
    transcript = folded(first, second, message("m", _meta={"k": 2}), chunk("m", "b"))
    content = v2.Content(content=v2.TextContent(text="c"))
    transcript.fold(v2.ToolCallContentChunk(tool_call_id="t", content=content))
    assert first.content == [v2.TextContent(text="a")]
    assert first.meta == {"k": 1}
    assert second.content == []


# Tool calls


def test_a_tool_call_is_created_with_defaults_by_whatever_comes_first() -> None:
    transcript = folded(tool("a", status="in_progress"))
    transcript.fold(v2.ToolCallUpdate(tool_call_id="b", title="asked for"))
    block = v2.Content(content=v2.TextContent(text="out"))
    transcript.fold(v2.ToolCallContentChunk(tool_call_id="c", content=block))
    a, b, c = transcript.tool_calls.values()
    assert (a.kind, a.status, a.title, a.content) == ("other", "in_progress", None, [])
    assert (b.kind, b.status, b.title) == ("other", "pending", "asked for")
    assert c.content == [block]
    assert transcript.entries == [a, b, c]


@pytest.mark.parametrize(
    ("field", "value", "default"),
    [
        ("name", "grep", None),
        ("title", "Look", None),
        ("kind", "_custom", "other"),
        ("status", "future_status", "pending"),
        ("content", [{"type": "_x"}, {"type": "terminal", "terminalId": "s"}], []),
        ("locations", [{"path": "/a", "line": 3}], []),
        ("rawInput", {"any": [1, None]}, None),
        ("rawOutput", False, None),
        ("capabilities", {"cancel": {}}, None),
        ("_meta", {"k": 1}, None),
    ],
)
def test_a_tool_call_field_is_kept_cleared_or_replaced(
    field: str, value: Any, default: Any
) -> None:
    name = {"rawInput": "raw_input", "rawOutput": "raw_output", "_meta": "meta"}.get(field, field)
    transcript = folded(tool())
    call = transcript.tool_calls["t"]
    assert getattr(call, name) == default
    folded(tool(**{field: value}), into=transcript)
    held = getattr(call, name)
    assert msgspec.json.decode(msgspec.json.encode(held, enc_hook=as_raw)) == value
    folded(tool(), into=transcript)
    assert getattr(call, name) == held
    nothing: dict[str, Any] = {field: None}
    folded(tool(**nothing), into=transcript)
    assert getattr(call, name) == default


def as_raw(value: Unknown) -> msgspec.Raw:
    return msgspec.Raw(value.raw)


def test_tool_call_content_is_appended_and_replaced_whole() -> None:
    def one(words: str) -> dict[str, Any]:
        return {"type": "content", "content": text(words)}

    def append(words: str) -> dict[str, Any]:
        return {"tool_call_content_chunk": {"toolCallId": "t", "content": one(words)}}

    transcript = folded(append("a"), append("b"), tool(content=[one("c")]), append("d"))
    shown = [each.content.text for each in transcript.tool_calls["t"].content]  # type: ignore[union-attr]
    assert shown == ["c", "d"]
    assert folded(tool(content=[]), into=transcript).tool_calls["t"].content == []


def test_cancelling_marks_what_is_unfinished_and_the_agent_has_the_last_word() -> None:
    words = ["pending", "in_progress", "paused", "completed", "failed", "cancelled", "_queued"]
    transcript = folded(*(tool(word, status=word) for word in words))
    cancelled = transcript.cancel_unfinished()
    assert [call.id for call in cancelled] == ["pending", "in_progress", "paused"]
    assert [call.status for call in transcript.tool_calls.values()] == ["cancelled"] * 3 + words[3:]
    folded(tool("pending", title="late"), tool("paused", status="completed"), into=transcript)
    assert transcript.tool_calls["pending"].status == "cancelled"
    assert transcript.tool_calls["paused"].status == "completed"
    assert transcript.cancel_unfinished() == []


def test_cancelling_leaves_the_background_alone() -> None:
    shown = [{"type": "content", "content": text("x")}, {"type": "terminal", "terminalId": "s"}]
    background = [
        {"type": "tool_call", "toolCallId": "listed"},
        {"type": "terminal", "terminalId": "s"},
        {"type": "subagent", "sessionId": "front"},
    ]
    calls = [tool("listed"), tool("behind terminal", content=shown), tool("front")]
    transcript = folded(*calls, state("running", background=background))
    assert [call.id for call in transcript.cancel_unfinished()] == ["front"]


# Terminals


def test_a_snapshot_replaces_and_chunks_append_each_decoded_alone() -> None:
    transcript = folded(output(b"early"), snapshot(b"AB"), output(b"C"), snapshot(b"Z"))
    folded(output(b"Y"), terminal(command="make"), into=transcript)
    only = transcript.terminals["s"]
    assert (only.output, only.text, only.command) == (b"ZY", "ZY", "make")
    assert folded(terminal(output=None), into=transcript).terminals["s"].output == b""


def test_a_character_cut_in_two_is_whole_again_and_what_is_not_text_does_not_crash() -> None:
    smile = "😀".encode()
    transcript = folded(output(b"a" + smile[:2]))
    only = transcript.terminals["s"]
    assert [only.text, only.text] == ["a", "a"]
    assert folded(output(smile[2:] + b"\xff!"), into=transcript).terminals["s"].text == "a😀�!"
    folded(output(smile[:3]), into=transcript)
    assert only.text == "a😀�!"
    assert folded(terminal(exitStatus={}), into=transcript).terminals["s"].text == "a😀�!�"


def test_a_terminal_field_is_kept_cleared_or_replaced() -> None:
    exited: dict[str, Any] = {
        "exitStatus": {"signal": "SIGTERM", "exitCode": None},
        "cwd": "/w",
    }
    transcript = folded(
        terminal(**exited, size={"cols": 80, "rows": 24}), tool(status="in_progress")
    )
    only = transcript.terminals["s"]
    folded(terminal(), into=transcript)
    assert only.exit_status == v2.TerminalExitStatus(signal="SIGTERM")
    assert (only.cwd, only.size) == ("/w", v2.TerminalSize(cols=80, rows=24))
    assert transcript.tool_calls["t"].status == "in_progress"
    again = folded(terminal(exitStatus=None, size=None), into=transcript).terminals["s"]
    assert again is only
    assert (again.exit_status, again.size, again.cwd) == (None, None, "/w")


@pytest.mark.parametrize("data", ["A", "AA=", "A\nA=", "é", "AA==AA==", "!!!!"])
def test_output_that_is_not_base64_is_refused_and_changes_nothing(data: str) -> None:
    transcript = folded(snapshot(b"kept"))
    for id in ("s", "new"):
        with pytest.raises(MalformedValue, match="data: expected base64"):
            transcript.fold(v2.TerminalOutputChunk(terminal_id=id, data=data))
        lying = v2.TerminalOutput(data=data)
        with pytest.raises(MalformedValue, match=r"output\.data: expected base64"):
            transcript.fold(v2.TerminalUpdate(terminal_id=id, cwd="/x", output=lying))
    assert list(transcript.terminals) == ["s"]
    assert transcript.terminals["s"].output == b"kept"
    assert transcript.terminals["s"].cwd is None


def test_a_limit_keeps_the_end_of_the_output_from_a_whole_character_on() -> None:
    transcript = Transcript(terminal_limit_bytes=6)
    only = folded(output("aé😀".encode()), into=transcript).terminals["s"]
    assert (only.text, only.dropped_bytes) == ("é😀", 1)
    folded(output(b"xyz"), into=transcript)
    assert (only.text, only.dropped_bytes) == ("xyz", 7)
    folded(snapshot(b"0123456789"), into=transcript)
    assert (only.output, only.dropped_bytes) == (b"456789", 4)
