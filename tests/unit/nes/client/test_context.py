"""What goes with a question: only what the agent wants, and the newest of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from parley.nes._documents.change import Spot
from parley.nes._documents.edit_log import Edit
from parley.nes._documents.patches import read_patch
from parley.nes.client._context import diff_of
from parley.nes.engine import Diagnostic, Snippet, TextEdit

from .editor import (
    EVERY_CONTEXT,
    EVERY_EVENT,
    URI,
    Editor,
    NesAgent,
    open_editor,
    position,
    range_,
    span,
)

OTHER = "file:///w/b.py"


async def context(editor: Editor) -> Any:
    """Return what goes with the question that is asked now."""
    editor.clock.advance(1)
    await editor.settle()
    return editor.agent.got("nes/suggest")[-1]["context"]


def everything(**counts: int) -> NesAgent:
    wanted = {name: {"maxCount": count} for name, count in counts.items()}
    return NesAgent(1, EVERY_EVENT, {**EVERY_CONTEXT, **wanted})


async def test_recent_files_are_the_others_and_the_last_one_comes_first() -> None:
    async with open_editor("a", agent=everything(recentFiles=2)) as editor:
        for name in "bcd":
            await editor.nes.open(f"file:///w/{name}.py", "python", name)
            await editor.nes.focus(f"file:///w/{name}.py")
            editor.clock.advance(0.01)
        await editor.type("x", 0, 0)
        files = (await context(editor))["recentFiles"]
        assert files == [
            {"uri": f"file:///w/{name}.py", "languageId": "python", "text": name} for name in "dc"
        ]


async def test_open_files_have_what_is_seen_of_them_and_when_they_were_in_front() -> None:
    began = time.time() * 1000 - 1
    async with open_editor("a\nb\nc", agent=everything()) as editor:
        await editor.nes.open(OTHER, "text", "")
        await editor.nes.focus(URI, Spot(0, 0), span(0, 0, 1, 1))
        await editor.type("\n", 0, 0)
        mine, other = (await context(editor))["openFiles"]
        assert other == {"uri": OTHER, "languageId": "text"}
        assert (mine["uri"], mine["visibleRange"]) == (URI, range_(0, 0, 2, 1))
        assert began <= mine["lastFocusedMs"] <= time.time() * 1000 + 1


async def test_the_edits_are_diffs_of_keystrokes_put_together() -> None:
    async with open_editor("one\ntwo\n", agent=everything(editHistory=2)) as editor:
        await editor.type("0", 0, 0)
        editor.clock.advance(5)
        await editor.type("1", 1, 3)
        await editor.type("2", 1, 4)
        editor.clock.advance(5)
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 4), ""))
        history = (await context(editor))["editHistory"]
        assert [each["uri"] for each in history] == [URI, URI]
        assert history[0]["diff"] == "--- a/a.py\n+++ b/a.py\n@@ -2,1 +2,1 @@\n-two\n+two12\n"
        assert history[1]["diff"].endswith("@@ -1,1 +1,1 @@\n-0one\n+\n")


async def test_actions_are_the_last_ones_in_order() -> None:
    async with open_editor("abc", agent=everything(userActions=5)) as editor:
        await editor.type("x", 0, 0)
        await editor.type("yz", 0, 1)
        editor.clock.advance(0.001)
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 1), ""))
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 2), ""))
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 1), "A"))
        await editor.nes.move(URI, Spot(0, 2))
        actions = (await context(editor))["userActions"]
        assert [each["action"] for each in actions] == [
            "insertText",
            "deleteChar",
            "deleteText",
            "replaceText",
            "cursorMovement",
        ]
        assert actions[0]["position"] == position(0, 3)
        assert actions[1]["timestampMs"] >= actions[0]["timestampMs"]


async def test_none_at_all_may_be_wanted() -> None:
    agent = everything(recentFiles=0, editHistory=0, userActions=0)
    async with open_editor("a", agent=agent) as editor:
        await editor.type("x", 0, 0)
        wanted = await context(editor)
        assert [wanted[key] for key in ("recentFiles", "editHistory", "userActions")] == [[]] * 3


async def test_related_code_is_what_the_editor_finds() -> None:
    asked: list[tuple[str, Spot]] = []

    def related(uri: str, spot: Spot) -> Sequence[Snippet]:
        asked.append((uri, spot))
        return [Snippet(OTHER, 4, "def f():\n    pass\n"), Snippet(OTHER, 9, "")]

    async with open_editor("a", agent=everything(), options={"related": related}) as editor:
        await editor.type("x", 0, 0)
        assert (await context(editor))["relatedSnippets"] == [
            {
                "uri": OTHER,
                "excerpts": [
                    {"startLine": 4, "endLine": 5, "text": "def f():\n    pass\n"},
                    {"startLine": 9, "endLine": 9, "text": ""},
                ],
            }
        ]
        assert asked == [(URI, Spot(0, 1))]


async def test_without_a_function_there_is_no_related_code() -> None:
    async with open_editor("a", agent=everything()) as editor:
        await editor.type("x", 0, 0)
        assert (await context(editor))["relatedSnippets"] == []


async def test_diagnostics_near_the_cursor_come_first_and_are_a_reason_to_ask() -> None:
    async with open_editor("a\n" * 20, agent=everything()) as editor:
        await editor.nes.focus(URI, Spot(10, 0))
        editor.agent.suggest(await editor.question())
        far = Diagnostic(URI, span(0, 0, 0, 1), "warning", "far")
        near = Diagnostic(URI, span(11, 0, 11, 1), "error", "near")
        await editor.nes.diagnose(URI, [far])
        await editor.nes.diagnose(URI, [far, near])
        question = await editor.question()
        assert question["params"]["triggerKind"] == "diagnostic"
        assert question["params"]["context"]["diagnostics"] == [
            {"uri": URI, "range": range_(11, 0, 11, 1), "severity": "error", "message": "near"},
            {"uri": URI, "range": range_(0, 0, 0, 1), "severity": "warning", "message": "far"},
        ]
        await editor.nes.diagnose(URI, [near])
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 2


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "@@ -4,3 +4,3 @@\n a\n-b\n+B\n c\n"),
        ("", "x\n", "@@ -3,0 +4,1 @@\n+x\n"),
        ("x\n", "", "@@ -4,1 +3,0 @@\n-x\n"),
        ("a", "b", "@@ -4,1 +4,1 @@\n"),
        ("a\r\n", "b\r\n", "@@ -4,1 +4,1 @@\n-a\r\n+b\r\n"),
    ],
)
def test_an_edit_is_a_diff_that_can_be_read_again(old: str, new: str, diff: str) -> None:
    written = diff_of(Edit(URI, 3, old=old, new=new), "a.py")
    assert diff in written
    (hunk,) = read_patch(written)
    assert [list(hunk.old), list(hunk.new)] == [old.splitlines(), new.splitlines()]


def test_a_text_without_an_end_is_said_to_have_none() -> None:
    assert diff_of(Edit(URI, 0, old="a", new="a\n"), "a").endswith(
        "-a\n\\ No newline at end of file\n+a\n"
    )
