"""What is shown, what gives way to what, and what is taken."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from parley.errors import LocalProtocolError
from parley.nes._documents.change import Spot
from parley.nes.client import EditSuggestion, JumpSuggestion, RenameSuggestion, ReplaceSuggestion
from parley.nes.engine import TextEdit

from .editor import EVERY_EVENT, URI, NesAgent, open_editor, position, span

OTHER = "file:///w/b.py"


# Showing


async def test_the_editor_is_told_each_time_what_is_to_be_shown() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "cd", "b")
        assert editor.shows.get_nowait() == EditSuggestion(
            id="s", uri=URI, edits=(TextEdit(span(0, 2), "cd"),)
        )
        await editor.type("c", 0, 2)
        assert editor.shows.get_nowait() == EditSuggestion(
            id="s", uri=URI, edits=(TextEdit(span(0, 3), "d"),)
        )
        await editor.type("x", 0, 3)
        assert editor.shows.get_nowait() is None
        assert editor.shows.empty()


async def test_an_editor_that_fails_to_show_something_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def show(suggestion: object) -> None:
        raise RuntimeError("no screen")

    async with open_editor("a", options={"on_show": show}) as editor:
        with caplog.at_level(logging.ERROR):
            await editor.suggested("s", (0, 2), "c", "b")
        assert "no screen" in caplog.text
        assert editor.target == "bac"


async def test_what_is_shown_does_not_give_way_to_another_suggestion() -> None:
    async with open_editor("a\nb\n\n\n") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        for id, place, text in (("1", (1, 0), "q"), ("2", (1, 1), "xcd"), ("3", (1, 1), "cd")):
            await editor.nes.focus(URI, Spot(int(id), 0))
            await editor.shown(editor.agent.edit(id, ((*place, *place), text)))
        assert isinstance(editor.nes.shown, EditSuggestion)
        assert editor.nes.shown.id == "old"
        assert editor.agent.outcomes == [(each, "cancelled") for each in "123"]


async def test_what_an_answer_for_a_newer_text_repeats_stays() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        await editor.suggested("same", (1, 1), "cd", "y")
        await editor.type("z", 0, 0)
        insertions = [("first", (1, 0), "q"), ("second", (1, 1), "cd")]
        await editor.shown(
            *(editor.agent.edit(id, ((*at, *at), new)) for id, at, new in insertions)
        )
        assert editor.target == "zyxa\nbcd"
        names = ("same", "first", "second")
        assert editor.agent.outcomes == [(each, "cancelled") for each in names]


async def test_what_an_answer_for_a_newer_text_does_not_repeat_is_gone() -> None:
    async with open_editor("total\ntotal\n") as editor:
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 2), ""))
        await editor.shown(editor.agent.edit("half", ((1, 0, 1, 2), "")))
        assert editor.target == "tal\ntal\n"
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 3), "sum"))
        await editor.shown(editor.agent.edit("whole", ((1, 0, 1, 5), "sum")))
        assert editor.target == "sum\nsum\n"
        assert editor.agent.outcomes == [("half", "replaced")]
        await editor.type("s", 0, 3)
        assert editor.nes.shown is not None
        await editor.shown(pause=0.1)
        assert editor.nes.shown is None
        assert editor.agent.outcomes == [("half", "replaced"), ("whole", "replaced")]


async def test_an_answer_for_the_same_text_does_not_end_what_is_shown() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        await editor.nes.focus(URI, Spot(1, 0))
        await editor.shown()
        assert editor.target == "xa\nbcd"


async def test_asking_again_for_what_is_shown_shows_nothing_new() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        editor.shows.get_nowait()
        asking = asyncio.create_task(editor.nes.ask())
        same = editor.agent.edit("again", ((1, 1, 1, 1), "cd"), _meta={"more": 1})
        editor.agent.suggest(await editor.agent.asked(), same)
        shown = await asking
        assert shown is not None
        assert (shown.id, editor.shows.empty()) == ("old", True)
        await editor.settle()
        assert editor.agent.outcomes == [("again", "cancelled")]


async def test_an_agent_that_names_two_suggestions_alike_hears_of_them_once() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("s", (1, 1), "cd", "x")
        await editor.type("y", 0, 0)
        places = ((1, 0, 1, 0), (0, 0, 0, 0))
        await editor.shown(*(editor.agent.edit("s", (each, "!")) for each in places))
        assert editor.target == "yxa\n!b"
        assert editor.agent.outcomes == []


async def test_what_is_shown_gives_way_to_one_that_says_more() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        await editor.suggested("new", (1, 1), "cdef", "y")
        assert editor.target == "yxa\nbcdef"
        assert editor.agent.outcomes == [("old", "replaced")]


async def test_what_is_shown_gives_way_to_one_in_another_document() -> None:
    async with open_editor("a\nb") as editor:
        await editor.nes.open(OTHER, "python", "z")
        await editor.suggested("old", (1, 1), "cd", "x")
        await editor.type("y", 0, 0)
        await editor.shown(editor.agent.edit("new", ((0, 1, 0, 1), "!"), uri=OTHER))
        assert editor.target == "z!"
        assert editor.agent.outcomes == [("old", "replaced")]


async def test_what_is_shown_gives_way_when_the_user_asks() -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("old", (1, 1), "cd", "x")
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        editor.agent.suggest(question, editor.agent.edit("new", ((1, 0, 1, 0), "!")))
        await asking
        assert editor.target == "xa\n!b"
        assert editor.agent.outcomes == [("old", "replaced")]


async def test_a_suggestion_that_changes_nothing_or_overlaps_itself_is_none() -> None:
    async with open_editor("abc") as editor:
        await editor.type("x", 0, 0)
        await editor.shown(
            editor.agent.edit("same", ((0, 1, 0, 2), "a")),
            editor.agent.edit("twice", ((0, 0, 0, 2), "q"), ((0, 1, 0, 3), "r")),
            editor.agent.edit("back", ((0, 2, 0, 1), "q")),
            editor.agent.edit("unknown", ((0, 0, 0, 0), "q"), uri="file:///elsewhere/c.py"),
        )
        await editor.agent.on_outcome("unknown")
        assert editor.nes.shown is None
        names = ("same", "twice", "back", "unknown")
        assert editor.agent.outcomes == [(each, "cancelled") for each in names]


async def test_a_suggestion_is_cut_down_to_what_it_changes() -> None:
    async with open_editor("def f(a):\r\n    return a\r\n") as editor:
        await editor.nes.move(URI, Spot(0, 0))
        await editor.type("x", 0, 0)
        whole = "xdef f(a, b):\r\n    return a + b\r\n"
        shown = await editor.shown(editor.agent.edit("s", ((0, 0, 2, 0), whole)))
        assert isinstance(shown, EditSuggestion)
        assert shown.edits == (TextEdit(span(0, 8, 1, 12), ", b):\r\n    return a + b"),)


# Taking


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_taken_is_made_in_our_copy_and_told(version: int) -> None:
    async with open_editor("one\ntwo\n", version=version) as editor:
        await editor.type("x", 0, 0)
        edits = [((0, 4, 0, 4), "!"), ((1, 0, 1, 3), "2\n3")]
        await editor.shown(editor.agent.edit("s", *edits, cursorPosition=position(2, 1)))
        taken = await editor.nes.accept()
        assert isinstance(taken, EditSuggestion)
        assert taken.cursor == Spot(2, 1)
        assert editor.text == "xone!\n2\n3\n"
        assert editor.nes.shown is None
        question = await editor.agent.asked()
        assert question["params"]["position"] == position(2, 1)
        methods = editor.agent.methods
        assert methods[-3:] == ["nes/accept", "document/didChange", "nes/suggest"]
        assert editor.agent.got("document/didChange")[-1]["version"] == 3
        assert editor.agent.outcomes == [("s", "accepted")]


async def test_without_a_cursor_it_is_behind_the_last_edit() -> None:
    async with open_editor("one\ntwo\n") as editor:
        await editor.type("x", 0, 0)
        edits = [((0, 4, 0, 4), "\nab"), ((1, 1, 1, 3), "q")]
        await editor.shown(editor.agent.edit("s", *edits))
        taken = await editor.nes.accept()
        assert isinstance(taken, EditSuggestion)
        assert taken.cursor == Spot(2, 2)
        assert editor.text == "xone\nab\ntq\n"


async def test_what_is_taken_is_asked_about_without_waiting_even_after_a_rejection() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.suggested("no", (1, 0), "x", "c")
        await editor.nes.reject()
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        editor.agent.suggest(question, editor.agent.edit("yes", ((1, 1, 1, 1), "!")))
        await asking
        await editor.nes.accept()
        await editor.agent.asked()


async def test_what_is_no_longer_shown_cannot_be_taken() -> None:
    async with open_editor("a") as editor:
        assert await editor.nes.accept() is None
        assert await editor.nes.reject() is False
        await editor.suggested("s", (0, 2), "b", "x")
        shown = editor.nes.shown
        await editor.type("q", 0, 2)
        await editor.shown(editor.agent.edit("t", ((0, 3, 0, 3), "c")))
        assert await editor.nes.accept(shown) is None
        assert await editor.nes.reject(shown) is False
        assert (editor.text, editor.target) == ("xaq", "xaqc")
        assert editor.agent.outcomes == [("s", "ignored")]
        assert await editor.nes.reject(editor.nes.shown)


async def test_what_is_shown_is_taken_as_it_is_now() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "bc", "x")
        shown = editor.nes.shown
        await editor.type("b", 0, 2)
        await editor.nes.accept(shown)
        assert editor.text == "xabc"


async def test_a_jump_is_over_when_the_cursor_is_there() -> None:
    async with open_editor("a\nb\nc") as editor:
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(2, 0)}
        await editor.type("x", 0, 0)
        assert await editor.shown(jump) == JumpSuggestion(id="j", uri=URI, spot=Spot(2, 0))
        await editor.nes.move(URI, Spot(1, 0))
        assert editor.nes.shown is not None
        await editor.nes.move(URI, Spot(2, 1))
        assert editor.nes.shown is None
        await editor.settle()
        assert editor.agent.outcomes == [("j", "ignored")]


async def test_a_jump_that_is_taken_is_asked_about_where_it_leads() -> None:
    async with open_editor("a\nb\nc") as editor:
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(2, 1)}
        await editor.type("x", 0, 0)
        await editor.shown(jump)
        await editor.nes.accept()
        assert (await editor.agent.asked())["params"]["position"] == position(2, 1)


async def test_renames_and_replacements_are_the_editors_to_carry_out() -> None:
    async with open_editor("a b") as editor:
        rename: dict[str, Any] = {
            "kind": "rename",
            "id": "r",
            "uri": URI,
            "position": position(0, 1),
            "newName": "c",
        }
        await editor.type("x", 0, 0)
        shown = await editor.shown(rename)
        assert shown == RenameSuggestion(id="r", uri=URI, spot=Spot(0, 1), new_name="c")
        assert await editor.nes.accept() == shown
        replacement = {"kind": "searchAndReplace", "id": "s", "uri": URI}
        await editor.type("y", 0, 0)
        shown = await editor.shown({**replacement, "search": "a", "replace": "b"})
        assert shown == ReplaceSuggestion(id="s", uri=URI, search="a", replace="b")
        assert await editor.nes.accept() == shown
        assert editor.text == "yxa b"


async def test_a_file_that_is_not_open_is_read_where_it_is_in_a_folder(tmp_path: Path) -> None:
    known, foreign = tmp_path / "w" / "k.py", tmp_path / "f.py"
    known.parent.mkdir()
    known.write_text("😀b\n")
    foreign.write_text("secret\n")
    agent = NesAgent(1, EVERY_EVENT, positionEncoding="utf-16")
    async with open_editor("a", agent=agent, options={"folders": [known.parent]}) as editor:
        await editor.type("x", 0, 0)
        await editor.shown(
            editor.agent.edit("f", ((0, 0, 0, 6), "open"), uri=foreign.as_uri()),
            editor.agent.edit("k", ((0, 2, 0, 3), "c"), uri=known.as_uri()),
        )
        shown = await editor.shows.get()
        assert isinstance(shown, EditSuggestion)
        assert shown.edits == (TextEdit(span(0, 1, 0, 2), "c"),)
        await editor.agent.on_outcome("f")
        assert await editor.nes.accept() == shown
        await editor.agent.on_outcome("k")
        assert editor.agent.outcomes == [("f", "cancelled"), ("k", "accepted")]


async def test_a_document_that_is_closed_takes_its_suggestion_with_it() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "b", "x")
        await editor.nes.close(URI)
        assert editor.nes.shown is None
        await editor.settle()
        assert editor.agent.outcomes == [("s", "ignored")]


async def test_what_is_shown_at_the_end_is_ignored() -> None:
    async with open_editor("a") as editor:
        await editor.suggested("s", (0, 2), "b", "x")
    assert editor.agent.outcomes == [("s", "ignored")]
    with pytest.raises(LocalProtocolError, match="not open"):
        await editor.nes.save(URI)
