"""Tool calls and terminals, downgraded to version 1."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._diffs import make_diff
from parley.session._v1_session_downgrader import SessionDowngrader
from parley.session._v1_tool_call_downgrader import ALWAYS_SENT_CHARS, MAX_OUTPUT_BYTES


def downgraded(to: SessionDowngrader, *updates: v2.SessionUpdate) -> list[Any]:
    """Return what is sent for updates, parsed."""
    sent = [each for update in updates for each in to.downgrade(update)]
    return [msgspec.json.decode(encode(each)) for each in sent]


def tool(**fields: Any) -> v2.ToolCallUpdated:
    return v2.ToolCallUpdated(tool_call_id="t", **fields)


def added(text: str) -> v2.ToolCallContentChunk:
    content = v2.Content(content=v2.TextContent(text=text))
    return v2.ToolCallContentChunk(tool_call_id="t", content=content)


def output(data: bytes) -> v2.TerminalOutputChunk:
    return v2.TerminalOutputChunk(terminal_id="x", data=base64.b64encode(data).decode())


def shown(update: Any) -> list[str]:
    """Return the texts of a call's content."""
    return [each["content"]["text"] for each in update["content"]]


@pytest.fixture
def to() -> SessionDowngrader:
    return SessionDowngrader(ClientFeatures())


def test_the_first_update_announces_a_call_and_later_ones_change_it(to: SessionDowngrader) -> None:
    first = tool(
        title="Read",
        name="read",
        kind="read",
        status="in_progress",
        locations=[v2.ToolCallLocation(path="/a", line=3)],
        raw_input={"a": 1},
        meta={"k": 1},
    )
    assert downgraded(to, first, tool(status="completed", raw_output=[2])) == [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "t",
            "title": "Read",
            "name": "read",
            "kind": "read",
            "status": "in_progress",
            "locations": [{"path": "/a", "line": 3}],
            "rawInput": {"a": 1},
            "_meta": {"k": 1},
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "completed",
            "rawOutput": [2],
        },
    ]


def test_a_call_always_has_a_title(to: SessionDowngrader) -> None:
    (call,) = downgraded(to, tool())
    assert (call["title"], call["kind"], call["status"]) == ("Tool call", "other", "pending")
    (call,) = downgraded(to, v2.ToolCallUpdated(tool_call_id="u", name="grep", title=None))
    assert call["title"] == "grep"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("pending", "pending"),
        ("in_progress", "in_progress"),
        ("paused", "in_progress"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("cancelled", "failed"),
        (None, "pending"),
    ],
)
def test_a_status_is_reported_as_near_as_version_1_can(
    to: SessionDowngrader, status: str | None, expected: str
) -> None:
    downgraded(to, tool(title="T"))
    (change,) = downgraded(to, tool(status=status))
    assert change["status"] == expected


def test_what_version_1_cannot_express_is_not_sent(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="T"))
    capabilities = v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities())
    assert downgraded(to, tool(capabilities=capabilities)) == []
    assert downgraded(to, tool(title=None, raw_input=None, meta=None)) == []
    assert downgraded(to, tool(status="_stuck")) == []
    (change,) = downgraded(to, tool(kind="_weave"))
    assert change["kind"] == "other"
    (change,) = downgraded(to, tool(kind=None, locations=None, content=None))
    assert (change["kind"], change["locations"], change["content"]) == ("other", [], [])


def test_one_more_thing_to_show_is_sent_with_all_the_others(to: SessionDowngrader) -> None:
    (call,) = downgraded(to, added("a"))
    assert (call["sessionUpdate"], shown(call)) == ("tool_call", ["a"])
    (change,) = downgraded(to, added("b"))
    assert shown(change) == ["a", "b"]
    (change,) = downgraded(to, tool(content=[v2.Content(content=v2.TextContent(text="c"))]))
    assert shown(change) == ["c"]
    (change,) = downgraded(to, added("d"))
    assert shown(change) == ["c", "d"]


def test_content_of_unknown_kinds_is_left_out(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="T"))
    video = Unknown("_video", b'{"type":"_video"}')
    for content in (video, v2.Content(content=video)):
        chunk = v2.ToolCallContentChunk(tool_call_id="t", content=content)
        assert downgraded(to, chunk) == []
    image = v2.Content(content=v2.ImageContent(data="AA==", mime_type="image/png"))
    (change,) = downgraded(to, v2.ToolCallContentChunk(tool_call_id="t", content=image))
    assert change["content"] == [
        {"type": "content", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}
    ]


def test_what_is_sent_of_a_growing_content_does_not_grow_with_its_square(
    to: SessionDowngrader,
) -> None:
    downgraded(to, tool(title="T"))
    sent = [each for _ in range(4000) for each in downgraded(to, added("0123456789"))]
    total = sum(len(encode(each)) for each in sent)
    assert total < 10 * len(encode(sent[-1]))  # each time, it would be two thousand times that
    before = len(sent[-1]["content"])
    assert before < 4000
    (rest,) = [msgspec.json.decode(encode(each)) for each in to.flush()]
    assert len(rest["content"]) == 4000
    assert to.flush() == []


def test_what_waits_is_sent_when_the_call_changes_or_the_agent_waits(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="T"), added("x" * (2 * ALWAYS_SENT_CHARS)))
    assert downgraded(to, added("a")) == []
    (change,) = downgraded(to, tool(status="completed"))
    assert shown(change)[1:] == ["a"]
    assert downgraded(to, added("b")) == []
    (change,) = downgraded(to, v2.StateUpdated(state="requires_action"))
    assert shown(change)[1:] == ["a", "b"]
    assert downgraded(to, added("c")) == []
    (change,) = [msgspec.json.decode(encode(each)) for each in to.end_turn()]
    assert shown(change)[1:] == ["a", "b", "c"]


def test_a_terminal_of_the_agent_is_shown_as_text(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="Build", content=[v2.Terminal(terminal_id="x")]))
    (change,) = downgraded(to, v2.TerminalUpdate(terminal_id="x", command="make", cwd="/w"))
    assert shown(change) == ["```\n/w$ make\n```"]
    (change,) = downgraded(to, output(b"cc \xe2\x82"))
    (change,) = downgraded(to, output(b"\xac a.c\r\n"))
    assert shown(change) == ["```\n/w$ make\ncc € a.c\n```"]
    status = v2.TerminalExitStatus(exit_code=2)
    (change,) = downgraded(to, v2.TerminalUpdate(terminal_id="x", exit_status=status))
    assert shown(change) == ["```\n/w$ make\ncc € a.c\n[exit code 2]\n```"]
    assert downgraded(to, v2.TerminalUpdate(terminal_id="x", exit_status=status)) == []
    (change,) = downgraded(to, v2.TerminalUpdate(terminal_id="x", exit_status=None, output=None))
    assert shown(change) == ["```\n/w$ make\n```"]


def test_a_terminal_can_be_added_to_what_a_call_shows(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="Build"), output(b"a\n"))
    terminal = v2.Terminal(terminal_id="x")
    (change,) = downgraded(to, v2.ToolCallContentChunk(tool_call_id="t", content=terminal))
    assert shown(change) == ["```\na\n```"]
    (change,) = downgraded(to, output(b"b\n"))
    assert shown(change) == ["```\na\nb\n```"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (v2.TerminalExitStatus(), "[ended]"),
        (v2.TerminalExitStatus(signal="SIGTERM"), "[ended by SIGTERM]"),
        (v2.TerminalExitStatus(exit_code=0), "[exit code 0]"),
    ],
)
def test_the_end_of_a_terminal_is_reported(
    to: SessionDowngrader, status: v2.TerminalExitStatus, words: str
) -> None:
    downgraded(to, v2.TerminalUpdate(terminal_id="x", exit_status=status), output(b"a"))
    (call,) = downgraded(to, tool(content=[v2.Terminal(terminal_id="x")]))
    assert shown(call) == [f"```\na\n{words}\n```"]


def test_control_sequences_are_not_shown_and_the_text_cannot_leave_its_block(
    to: SessionDowngrader,
) -> None:
    data = b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x00 ````\n"
    downgraded(to, output(data))
    (call,) = downgraded(to, tool(content=[v2.Terminal(terminal_id="x")]))
    assert shown(call) == ["`````\nred link ````\n`````"]


def test_only_the_end_of_long_output_is_shown(to: SessionDowngrader) -> None:
    downgraded(to, tool(title="T", content=[v2.Terminal(terminal_id="x")]))
    sent = downgraded(to, *(output(b"%06d\n" % number) for number in range(20_000)))
    assert len(sent) < 700
    assert sum(len(encode(each)) for each in sent) < 16 * 20_000 * 7
    (last,) = [msgspec.json.decode(encode(each)) for each in to.end_turn()] or [sent[-1]]
    (text,) = shown(last)
    assert text.startswith("```\n…\n")
    assert text.endswith("019999\n```")
    assert len(text) <= MAX_OUTPUT_BYTES + 20
    whole = v2.TerminalOutput(data=base64.b64encode(b"anew").decode())
    (change,) = downgraded(to, v2.TerminalUpdate(terminal_id="x", output=whole))
    assert shown(change) == ["```\nanew\n```"]


def test_a_terminal_is_reported_in_each_call_that_shows_it_and_in_no_other(
    to: SessionDowngrader,
) -> None:
    assert downgraded(to, output(b"a")) == []
    terminal = v2.Terminal(terminal_id="x")
    downgraded(to, tool(title="T", content=[terminal]))
    downgraded(to, v2.ToolCallUpdated(tool_call_id="u", title="U", content=[terminal]))
    assert [each["toolCallId"] for each in downgraded(to, output(b"b"))] == ["t", "u"]
    downgraded(to, tool(content=[]))
    assert [each["toolCallId"] for each in downgraded(to, output(b"c"))] == ["u"]


def test_output_that_is_not_base64_is_refused(to: SessionDowngrader) -> None:
    with pytest.raises(MalformedValue):
        to.downgrade(v2.TerminalOutputChunk(terminal_id="x", data="%"))


def test_changes_with_texts_are_diffs_and_others_are_text(
    to: SessionDowngrader,
) -> None:
    patch = (
        "diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1 @@\n-x\n+y\n"
        "diff --git /o /n\nsimilarity index 50%\nrename from /o\nrename to /n\n"
        "--- /o\n+++ /n\n@@ -1 +1 @@\n-p\n+q\n"
    )
    diff = v2.Diff(
        changes=[
            v2.DiffModify(path="/a"),
            v2.DiffMove(old_path="/o", path="/n"),
            v2.DiffCopy(old_path="/c", path="/d"),
            v2.DiffDelete(path="/e", file_type="binary"),
            v2.DiffAdd(path="/f"),
            Unknown("_fold", b'{"operation":"_fold"}'),
        ],
        patch=v2.DiffPatch(format="git_patch", text=patch),
        meta={"k": 1},
    )
    (call,) = downgraded(to, tool(title="Edit", content=[diff]))
    meta = {"_meta": {"k": 1}}
    words = [
        {"type": "content", "content": {"type": "text", "text": text}, **meta}
        for text in ("Moved `/o` to `/n`", "Copied `/c` to `/d`", "Deleted `/e`", "Added `/f`")
    ]
    assert call["content"] == [
        {"type": "diff", "path": "/a", "oldText": "x\n", "newText": "y\n", **meta},
        {"type": "diff", "path": "/n", "oldText": "p\n", "newText": "q\n", **meta},
        *words,
    ]


def test_a_deleted_file_is_a_diff_to_nothing(to: SessionDowngrader) -> None:
    (call,) = downgraded(to, tool(title="Edit", content=[make_diff("/a", "x\n", None)]))
    assert call["content"] == [{"type": "diff", "path": "/a", "oldText": "x\n", "newText": ""}]
    assert call.get("meta", UNSET) is UNSET
