"""Tool calls, upgraded to version 2."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from parley.schema import v1, v2
from parley.session._v1_session_upgrader import SessionUpgrader

CONTENT: list[v1.ToolCallContent] = [v1.Content(content=v1.TextContent(text="a"), meta={"k": 1})]
UPGRADED: list[v2.ToolCallContent] = [v2.Content(content=v2.TextContent(text="a"), meta={"k": 1})]


def upgraded(upgrader: SessionUpgrader, update: v1.SessionUpdate) -> Any:
    (only,) = upgrader.upgrade(update)
    return only


def test_a_new_call_says_only_what_it_has() -> None:
    call = v1.ToolCall(tool_call_id="t", title="Read", raw_input={})
    assert upgraded(SessionUpgrader(), call) == v2.ToolCallUpdated(
        tool_call_id="t", title="Read", kind="other", status="pending", raw_input={}
    )


def test_a_new_call_with_everything_keeps_it() -> None:
    call = v1.ToolCall(
        tool_call_id="t",
        title="Read",
        name="read",
        kind="read",
        status="in_progress",
        content=CONTENT,
        locations=[
            v1.ToolCallLocation(path="/a", line=3),
            v1.ToolCallLocation(path="/b", line=0, meta={"k": 1}),
        ],
        raw_input=[1],
        raw_output=0,
        meta={"m": 1},
    )
    assert upgraded(SessionUpgrader(), call) == v2.ToolCallUpdated(
        tool_call_id="t",
        title="Read",
        name="read",
        kind="read",
        status="in_progress",
        content=UPGRADED,
        # Version 2 counts lines from 1.
        locations=[
            v2.ToolCallLocation(path="/a", line=3),
            v2.ToolCallLocation(path="/b", meta={"k": 1}),
        ],
        raw_input=[1],
        raw_output=0,
        meta={"m": 1},
    )


def test_a_call_that_is_announced_again_loses_what_is_not_repeated() -> None:
    upgrader = SessionUpgrader()
    upgraded(upgrader, v1.ToolCall(tool_call_id="t", title="Read", content=CONTENT, raw_input=1))
    again = upgraded(upgrader, v1.ToolCall(tool_call_id="t", title="Read on"))
    assert (again.title, again.content, again.locations) == ("Read on", [], [])
    assert (again.raw_input, again.name, again.meta) == (None, None, None)


def test_a_change_says_only_what_has_changed() -> None:
    upgrader = SessionUpgrader()
    change = v1.ToolCallUpdated(tool_call_id="t", status="completed")
    assert upgraded(upgrader, change) == v2.ToolCallUpdated(tool_call_id="t", status="completed")
    change = v1.ToolCallUpdated(tool_call_id="t", content=[], locations=[], raw_output=False)
    updates = upgraded(upgrader, change)
    assert (updates.content, updates.locations, updates.raw_output) == ([], [], False)
    assert updates.title is updates.kind is updates.raw_input is UNSET


def test_a_change_may_come_before_its_call() -> None:
    upgrader = SessionUpgrader()
    upgraded(upgrader, v1.ToolCallUpdated(tool_call_id="t", content=CONTENT))
    updates = upgraded(upgrader, v1.ToolCall(tool_call_id="t", title="Read"))
    assert updates.content == []


def test_a_diff_becomes_a_list_of_changes_with_a_patch() -> None:
    content: list[v1.ToolCallContent] = [
        v1.Diff(path="/a", old_text="x\n", new_text="y\n", meta={"k": 1}),
        v1.Diff(path="/b", new_text="new"),
        v1.Terminal(terminal_id="i"),
    ]
    changed, added, terminal = upgraded(
        SessionUpgrader(), v1.ToolCall(tool_call_id="t", title="Edit", content=content)
    ).content
    assert changed == v2.Diff(
        changes=[v2.DiffModify(path="/a", file_type="text")],
        patch=v2.DiffPatch(
            format="git_patch",
            text="diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1 @@\n-x\n+y\n",
        ),
        meta={"k": 1},
    )
    assert added.changes == [v2.DiffAdd(path="/b", file_type="text")]
    assert "+new\n\\ No newline at end of file\n" in added.patch.text
    assert terminal == v2.Terminal(terminal_id="i")
