"""Tool calls as a client sees them: patches, content, kinds, statuses, places and diffs.

https://agentclientprotocol.com/protocol/v1/tool-calls
https://agentclientprotocol.com/protocol/v2/tool-calls
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1, v2
from parley.schema.base import Unknown, is_extension
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry

from .transcripts import TranscriptReader, transcript_after
from .wire_values import is_refused, read, text, tool, update, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])
A = {"type": "content", "content": text("a")}
B = {"type": "content", "content": text("b")}
PLACE = {"path": "/a", "line": 1}


def call(version: int, *updates: Any) -> ToolCallEntry:
    """Return the one tool call that a client knows after these updates."""
    (only,) = transcript_after(version, *updates).tool_calls.values()
    return only


def announced(**fields: Any) -> Any:
    return tool(sessionUpdate="tool_call", title="T", **fields)


def written(values: list[Any]) -> list[Any]:
    return [write(each) for each in values]


@requirement("V1-TOOL-04", "V1-TOOL-17")
def test_in_version_1_an_update_changes_only_what_it_has() -> None:
    known = announced(name="read", status="in_progress", content=[A], locations=[PLACE], rawInput=1)
    nulls: Any = dict.fromkeys(("title", "name", "kind", "content", "locations", "rawInput"))
    seen = call(1, known, tool(status="completed", **nulls))
    assert (seen.title, seen.name, seen.kind, seen.status) == ("T", "read", "other", "completed")
    assert (written(seen.content), written(seen.locations), seen.raw_input) == ([A], [PLACE], 1)


@requirement("V2-TOOL-04")
def test_in_version_2_a_field_stays_is_cleared_or_replaced() -> None:
    fields: dict[str, tuple[Any, Any, Any]] = {
        "title": ("T", "U", None),
        "name": ("n", "o", None),
        "kind": ("read", "edit", "other"),
        "status": ("in_progress", "failed", "pending"),
        "content": ([A], [B], []),
        "locations": ([PLACE], [{"path": "/b"}], []),
        "rawInput": ({"a": 1}, [2], None),
        "rawOutput": ("x", {"b": 3}, None),
    }
    for name, (first, second, empty) in fields.items():
        client = TranscriptReader(2)
        attribute = {"rawInput": "raw_input", "rawOutput": "raw_output"}.get(name, name)
        steps: list[tuple[dict[str, Any], Any]] = [
            ({name: first}, first),
            ({}, first),
            ({name: second}, second),
            ({name: None}, empty),
        ]
        for step, expected in steps:
            seen = client.receive(tool(**step)).tool_calls["t"]
            assert write(getattr(seen, attribute)) == expected, (name, step)


@requirement("V1-TOOL-05", "V2-TOOL-04")
@in_both_versions
def test_lists_are_replaced_as_a_whole(version: int) -> None:
    begun = announced(content=[A], locations=[PLACE]) if version == 1 else tool(content=[A])
    seen = call(version, begun, tool(content=[B], locations=[{"path": "/b"}]))
    assert written(seen.content) == [B]
    assert written(seen.locations) == [{"path": "/b"}]
    assert call(version, begun, tool(content=[], locations=[])).content == []


@requirement("V1-TOOL-06", "V2-TOOL-01", "V2-TOOL-03")
@in_both_versions
def test_a_new_call_is_pending_and_of_no_special_kind(version: int) -> None:
    seen = call(version, announced() if version == 1 else tool())
    assert (seen.kind, seen.status, seen.content, seen.locations) == ("other", "pending", [], [])


@requirement("V2-TOOL-01")
def test_version_2_has_no_update_that_only_creates() -> None:
    seen = read(v2.SessionUpdate, announced())
    assert isinstance(seen, Unknown)
    assert is_refused(v2.SessionUpdate, update("tool_call_update", title="T"))


@requirement("V1-TOOL-07", "V1-TOOL-08", "V1-TOOL-18")
def test_in_version_1_unknown_kinds_and_statuses_read_as_the_known_ones() -> None:
    first = call(1, announced(kind="dance", status="paused"))
    assert (first.kind, first.status) == ("other", "pending")
    begun = announced(kind="read", status="in_progress")
    assert call(1, begun, tool(status="paused")).status == "in_progress"
    assert call(1, begun, tool(kind="dance")).kind == "other"
    assert call(1, begun, tool(kind=5)).kind == "read"


@requirement("V1-TOOL-09")
def test_version_1_has_four_statuses() -> None:
    for status in ("pending", "in_progress", "completed", "failed"):
        assert read(v1.SessionUpdate, tool(status=status)).status == status
    assert read(v1.SessionUpdate, tool(status="cancelled")).status is None


@requirement("V2-TOOL-08", "V2-ENUM-01", "V2-ENUM-02", "V2-ENUM-04")
@pytest.mark.parametrize(("word", "is_own"), [("_dance", True), ("dance", False)])
def test_in_version_2_unknown_kinds_statuses_and_content_are_kept(word: str, is_own: bool) -> None:
    item = {"type": word, "steps": [1, None, {"x": "é"}]}
    value = tool(kind=word, status=word, content=[item, A])
    assert write(read(v2.SessionUpdate, value)) == value
    seen = call(2, value)
    assert (seen.kind, seen.status) == (word, word)
    assert isinstance(seen.content[0], Unknown)
    assert (seen.content[0].tag, is_extension(word)) == (word, is_own)
    assert written(seen.content) == [item, A]


@requirement("V2-TOOL-06")
def test_a_chunk_of_content_appends_and_content_replaces() -> None:
    def piece(item: Any) -> Any:
        return tool(sessionUpdate="tool_call_content_chunk", content=item)

    assert written(call(2, piece(A), piece(B)).content) == [A, B]
    assert written(call(2, piece(A), piece(B), tool(content=[B]), piece(A)).content) == [B, A]


@requirement("V1-TOOL-15", "V2-TOOL-05")
@in_both_versions
@pytest.mark.parametrize("value", [{"a": [1]}, [1, 2], "words", 0, False, ""])
def test_raw_input_and_output_are_any_json(version: int, value: Any) -> None:
    begun = announced() if version == 1 else tool()
    seen = call(version, begun, tool(rawInput=value, rawOutput=value))
    assert (seen.raw_input, seen.raw_output) == (value, value)
    kept = call(version, begun, tool(rawInput=value), tool())
    assert kept.raw_input == value
    cleared = call(version, begun, tool(rawInput=value), tool(rawInput=None))
    assert cleared.raw_input == (value if version == 1 else None)


@requirement("V1-TOOL-11", "V2-TOOL-10")
def test_lines_count_from_1() -> None:
    assert call(1, announced(locations=[{"path": "/a", "line": 0}])).locations[0].line is None
    (place,) = call(2, tool(locations=[{"path": "/a", "line": 1}])).locations
    assert (place.path, place.line) == ("/a", 1)
    (place,) = call(2, tool(locations=[{"path": "/a", "line": 0}])).locations
    assert place.line is None


@requirement("V2-DIFF-01")
@pytest.mark.parametrize("operation", ["move", "copy"])
def test_what_was_moved_has_an_old_path(operation: str) -> None:
    change = {"operation": operation, "path": "/b"}
    assert is_refused(v2.DiffChange, change)
    assert read(v2.DiffChange, {**change, "oldPath": "/a"}).old_path == "/a"


@requirement("V2-DIFF-02", "V2-DIFF-03", "V1-TOOL-10")
@pytest.mark.parametrize(
    ("old", "operation"), [("one\ntwo\n", "modify"), (None, "add"), ("", "modify")]
)
def test_a_diff_of_two_texts_has_a_patch_that_agrees_with_its_change(
    old: str | None, operation: str
) -> None:
    item = {"type": "diff", "path": "/a b.py", "oldText": old, "newText": "one\nTWO\n"}
    seen = written(call(1, announced(content=[item])).content)
    assert seen == [write(make_diff("/a b.py", old, "one\nTWO\n"))]
    assert seen[0]["changes"][0]["operation"] == operation
    assert seen[0]["changes"][0]["path"] == "/a b.py"
    assert seen[0]["patch"]["format"] == "git_patch"
    lines = seen[0]["patch"]["text"].splitlines()
    assert lines[0] == "diff --git /a b.py /a b.py"
    assert "+TWO" in lines
    assert not any(line.startswith(("From ", "Subject:")) for line in lines)


@requirement("V2-DIFF-04", "V2-DIFF-05")
@pytest.mark.parametrize("patch", [{}, {"patch": None}])
def test_a_diff_without_a_patch_and_with_unknown_operations_is_kept(patch: dict[str, Any]) -> None:
    changes = [
        {"operation": "modify", "path": "/a", "fileType": "binary", "mimeType": "image/png"},
        {"operation": "delete", "path": "/b", "fileType": "symlink"},
        {"operation": "_chmod", "path": "/c", "mode": 0o755},
    ]
    (diff,) = call(2, tool(content=[{"type": "diff", "changes": changes, **patch}])).content
    assert isinstance(diff, v2.Diff)
    assert diff.patch is None
    assert written(list(diff.changes)) == changes


@requirement("V1-PROMPT-19", "V1-PROMPT-25", "V2-TOOL-09", "V2-CANC-07")
@in_both_versions
def test_what_is_unfinished_at_a_cancel_counts_as_cancelled_until_the_agent_says_more(
    version: int,
) -> None:
    kind = "tool_call" if version == 1 else "tool_call_update"
    transcript = transcript_after(
        version,
        tool("a", sessionUpdate=kind, title="A"),
        tool("b", sessionUpdate=kind, title="B", status="completed"),
    )
    assert [each.id for each in transcript.cancel_unfinished()] == ["a"]
    calls = transcript.tool_calls
    assert (calls["a"].status, calls["b"].status) == ("cancelled", "completed")
    transcript.fold(v2.ToolCallUpdated(tool_call_id="a", status="completed"))
    assert calls["a"].status == "completed"
