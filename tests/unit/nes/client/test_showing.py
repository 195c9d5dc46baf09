"""What is shown, what gives way to what, and what is taken."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from parley.errors import LocalProtocolError
from parley.nes.client import EditSuggestion, JumpSuggestion, RenameSuggestion, ReplaceSuggestion
from parley.nes.documents.change import Spot
from parley.nes.engine import TextEdit

from .desk import EVERY_EVENT, URI, NesAgent, at_desk, position, span

OTHER = "file:///w/b.py"


# Showing


async def test_the_editor_is_told_each_time_what_is_to_be_shown() -> None:
    async with at_desk("a") as desk:
        await desk.suggested("s", (0, 2), "cd", "b")
        assert desk.shows.get_nowait() == EditSuggestion(
            id="s", uri=URI, edits=(TextEdit(span(0, 2), "cd"),)
        )
        await desk.type("c", 0, 2)
        assert desk.shows.get_nowait() == EditSuggestion(
            id="s", uri=URI, edits=(TextEdit(span(0, 3), "d"),)
        )
        await desk.type("x", 0, 3)
        assert desk.shows.get_nowait() is None
        assert desk.shows.empty()


async def test_an_editor_that_fails_to_show_something_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def show(suggestion: object) -> None:
        raise RuntimeError("no screen")

    async with at_desk("a", options={"on_show": show}) as desk:
        with caplog.at_level(logging.ERROR):
            await desk.suggested("s", (0, 2), "c", "b")
        assert "no screen" in caplog.text
        assert desk.target == "bac"


async def test_what_is_shown_does_not_give_way_to_another_suggestion() -> None:
    async with at_desk("a\nb\n\n\n") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        for id, place, text in (("1", (1, 0), "q"), ("2", (1, 1), "xcd"), ("3", (1, 1), "cd")):
            await desk.nes.focus(URI, Spot(int(id), 0))
            await desk.shown(desk.agent.edit(id, ((*place, *place), text)))
        assert isinstance(desk.nes.shown, EditSuggestion)
        assert desk.nes.shown.id == "old"
        assert desk.agent.outcomes == [(each, "cancelled") for each in "123"]


async def test_what_an_answer_for_a_newer_text_repeats_stays() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        await desk.suggested("same", (1, 1), "cd", "y")
        await desk.type("z", 0, 0)
        insertions = [("first", (1, 0), "q"), ("second", (1, 1), "cd")]
        await desk.shown(*(desk.agent.edit(id, ((*at, *at), new)) for id, at, new in insertions))
        assert desk.target == "zyxa\nbcd"
        names = ("same", "first", "second")
        assert desk.agent.outcomes == [(each, "cancelled") for each in names]


async def test_what_an_answer_for_a_newer_text_does_not_repeat_is_gone() -> None:
    async with at_desk("total\ntotal\n") as desk:
        await desk.nes.change(URI, TextEdit(span(0, 0, 0, 2), ""))
        await desk.shown(desk.agent.edit("half", ((1, 0, 1, 2), "")))
        assert desk.target == "tal\ntal\n"
        await desk.nes.change(URI, TextEdit(span(0, 0, 0, 3), "sum"))
        await desk.shown(desk.agent.edit("whole", ((1, 0, 1, 5), "sum")))
        assert desk.target == "sum\nsum\n"
        assert desk.agent.outcomes == [("half", "replaced")]
        await desk.type("s", 0, 3)
        assert desk.nes.shown is not None
        await desk.shown(pause=0.1)
        assert desk.nes.shown is None
        assert desk.agent.outcomes == [("half", "replaced"), ("whole", "replaced")]


async def test_an_answer_for_the_same_text_does_not_end_what_is_shown() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        await desk.nes.focus(URI, Spot(1, 0))
        await desk.shown()
        assert desk.target == "xa\nbcd"


async def test_asking_again_for_what_is_shown_shows_nothing_new() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        desk.shows.get_nowait()
        asking = asyncio.create_task(desk.nes.ask())
        same = desk.agent.edit("again", ((1, 1, 1, 1), "cd"), _meta={"more": 1})
        desk.agent.suggest(await desk.agent.asked(), same)
        shown = await asking
        assert shown is not None
        assert (shown.id, desk.shows.empty()) == ("old", True)
        await desk.settle()
        assert desk.agent.outcomes == [("again", "cancelled")]


async def test_an_agent_that_names_two_suggestions_alike_hears_of_them_once() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("s", (1, 1), "cd", "x")
        await desk.type("y", 0, 0)
        places = ((1, 0, 1, 0), (0, 0, 0, 0))
        await desk.shown(*(desk.agent.edit("s", (each, "!")) for each in places))
        assert desk.target == "yxa\n!b"
        assert desk.agent.outcomes == []


async def test_what_is_shown_gives_way_to_one_that_says_more() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        await desk.suggested("new", (1, 1), "cdef", "y")
        assert desk.target == "yxa\nbcdef"
        assert desk.agent.outcomes == [("old", "replaced")]


async def test_what_is_shown_gives_way_to_one_in_another_document() -> None:
    async with at_desk("a\nb") as desk:
        await desk.nes.open(OTHER, "python", "z")
        await desk.suggested("old", (1, 1), "cd", "x")
        await desk.type("y", 0, 0)
        await desk.shown(desk.agent.edit("new", ((0, 1, 0, 1), "!"), uri=OTHER))
        assert desk.target == "z!"
        assert desk.agent.outcomes == [("old", "replaced")]


async def test_what_is_shown_gives_way_when_the_user_asks() -> None:
    async with at_desk("a\nb") as desk:
        await desk.suggested("old", (1, 1), "cd", "x")
        asking = asyncio.create_task(desk.nes.ask())
        question = await desk.agent.asked()
        desk.agent.suggest(question, desk.agent.edit("new", ((1, 0, 1, 0), "!")))
        await asking
        assert desk.target == "xa\n!b"
        assert desk.agent.outcomes == [("old", "replaced")]


async def test_a_suggestion_that_changes_nothing_or_overlaps_itself_is_none() -> None:
    async with at_desk("abc") as desk:
        await desk.type("x", 0, 0)
        await desk.shown(
            desk.agent.edit("same", ((0, 1, 0, 2), "a")),
            desk.agent.edit("twice", ((0, 0, 0, 2), "q"), ((0, 1, 0, 3), "r")),
            desk.agent.edit("back", ((0, 2, 0, 1), "q")),
            desk.agent.edit("unknown", ((0, 0, 0, 0), "q"), uri="file:///elsewhere/c.py"),
        )
        await desk.agent.on_outcome("unknown")
        assert desk.nes.shown is None
        names = ("same", "twice", "back", "unknown")
        assert desk.agent.outcomes == [(each, "cancelled") for each in names]


async def test_a_suggestion_is_cut_down_to_what_it_changes() -> None:
    async with at_desk("def f(a):\r\n    return a\r\n") as desk:
        await desk.nes.move(URI, Spot(0, 0))
        await desk.type("x", 0, 0)
        whole = "xdef f(a, b):\r\n    return a + b\r\n"
        shown = await desk.shown(desk.agent.edit("s", ((0, 0, 2, 0), whole)))
        assert isinstance(shown, EditSuggestion)
        assert shown.edits == (TextEdit(span(0, 8, 1, 12), ", b):\r\n    return a + b"),)


# Taking


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_taken_is_made_in_our_copy_and_told(version: int) -> None:
    async with at_desk("one\ntwo\n", version=version) as desk:
        await desk.type("x", 0, 0)
        edits = [((0, 4, 0, 4), "!"), ((1, 0, 1, 3), "2\n3")]
        await desk.shown(desk.agent.edit("s", *edits, cursorPosition=position(2, 1)))
        taken = await desk.nes.accept()
        assert isinstance(taken, EditSuggestion)
        assert taken.cursor == Spot(2, 1)
        assert desk.text == "xone!\n2\n3\n"
        assert desk.nes.shown is None
        question = await desk.agent.asked()
        assert question["params"]["position"] == position(2, 1)
        methods = desk.agent.methods
        assert methods[-3:] == ["nes/accept", "document/didChange", "nes/suggest"]
        assert desk.agent.got("document/didChange")[-1]["version"] == 3
        assert desk.agent.outcomes == [("s", "accepted")]


async def test_without_a_cursor_it_is_behind_the_last_edit() -> None:
    async with at_desk("one\ntwo\n") as desk:
        await desk.type("x", 0, 0)
        edits = [((0, 4, 0, 4), "\nab"), ((1, 1, 1, 3), "q")]
        await desk.shown(desk.agent.edit("s", *edits))
        taken = await desk.nes.accept()
        assert isinstance(taken, EditSuggestion)
        assert taken.cursor == Spot(2, 2)
        assert desk.text == "xone\nab\ntq\n"


async def test_what_is_taken_is_asked_about_without_waiting_even_after_a_rejection() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.suggested("no", (1, 0), "x", "c")
        await desk.nes.reject()
        asking = asyncio.create_task(desk.nes.ask())
        question = await desk.agent.asked()
        desk.agent.suggest(question, desk.agent.edit("yes", ((1, 1, 1, 1), "!")))
        await asking
        await desk.nes.accept()
        await desk.agent.asked()


async def test_what_is_no_longer_shown_cannot_be_taken() -> None:
    async with at_desk("a") as desk:
        assert await desk.nes.accept() is None
        assert await desk.nes.reject() is False
        await desk.suggested("s", (0, 2), "b", "x")
        shown = desk.nes.shown
        await desk.type("q", 0, 2)
        await desk.shown(desk.agent.edit("t", ((0, 3, 0, 3), "c")))
        assert await desk.nes.accept(shown) is None
        assert await desk.nes.reject(shown) is False
        assert (desk.text, desk.target) == ("xaq", "xaqc")
        assert desk.agent.outcomes == [("s", "ignored")]
        assert await desk.nes.reject(desk.nes.shown)


async def test_what_is_shown_is_taken_as_it_is_now() -> None:
    async with at_desk("a") as desk:
        await desk.suggested("s", (0, 2), "bc", "x")
        shown = desk.nes.shown
        await desk.type("b", 0, 2)
        await desk.nes.accept(shown)
        assert desk.text == "xabc"


async def test_a_jump_is_over_when_the_cursor_is_there() -> None:
    async with at_desk("a\nb\nc") as desk:
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(2, 0)}
        await desk.type("x", 0, 0)
        assert await desk.shown(jump) == JumpSuggestion(id="j", uri=URI, spot=Spot(2, 0))
        await desk.nes.move(URI, Spot(1, 0))
        assert desk.nes.shown is not None
        await desk.nes.move(URI, Spot(2, 1))
        assert desk.nes.shown is None
        await desk.settle()
        assert desk.agent.outcomes == [("j", "ignored")]


async def test_a_jump_that_is_taken_is_asked_about_where_it_leads() -> None:
    async with at_desk("a\nb\nc") as desk:
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(2, 1)}
        await desk.type("x", 0, 0)
        await desk.shown(jump)
        await desk.nes.accept()
        assert (await desk.agent.asked())["params"]["position"] == position(2, 1)


async def test_renames_and_replacements_are_the_editors_to_carry_out() -> None:
    async with at_desk("a b") as desk:
        rename: dict[str, Any] = {
            "kind": "rename",
            "id": "r",
            "uri": URI,
            "position": position(0, 1),
            "newName": "c",
        }
        await desk.type("x", 0, 0)
        shown = await desk.shown(rename)
        assert shown == RenameSuggestion(id="r", uri=URI, spot=Spot(0, 1), new_name="c")
        assert await desk.nes.accept() == shown
        replacement = {"kind": "searchAndReplace", "id": "s", "uri": URI}
        await desk.type("y", 0, 0)
        shown = await desk.shown({**replacement, "search": "a", "replace": "b"})
        assert shown == ReplaceSuggestion(id="s", uri=URI, search="a", replace="b")
        assert await desk.nes.accept() == shown
        assert desk.text == "yxa b"


async def test_a_file_that_is_not_open_is_read_where_it_is_in_a_folder(tmp_path: Path) -> None:
    known, foreign = tmp_path / "w" / "k.py", tmp_path / "f.py"
    known.parent.mkdir()
    known.write_text("😀b\n")
    foreign.write_text("secret\n")
    agent = NesAgent(1, EVERY_EVENT, positionEncoding="utf-16")
    async with at_desk("a", agent=agent, options={"folders": [known.parent]}) as desk:
        await desk.type("x", 0, 0)
        await desk.shown(
            desk.agent.edit("f", ((0, 0, 0, 6), "open"), uri=foreign.as_uri()),
            desk.agent.edit("k", ((0, 2, 0, 3), "c"), uri=known.as_uri()),
        )
        shown = await desk.shows.get()
        assert isinstance(shown, EditSuggestion)
        assert shown.edits == (TextEdit(span(0, 1, 0, 2), "c"),)
        await desk.agent.on_outcome("f")
        assert await desk.nes.accept() == shown
        await desk.agent.on_outcome("k")
        assert desk.agent.outcomes == [("f", "cancelled"), ("k", "accepted")]


async def test_a_document_that_is_closed_takes_its_suggestion_with_it() -> None:
    async with at_desk("a") as desk:
        await desk.suggested("s", (0, 2), "b", "x")
        await desk.nes.close(URI)
        assert desk.nes.shown is None
        await desk.settle()
        assert desk.agent.outcomes == [("s", "ignored")]


async def test_what_is_shown_at_the_end_is_ignored() -> None:
    async with at_desk("a") as desk:
        await desk.suggested("s", (0, 2), "b", "x")
    assert desk.agent.outcomes == [("s", "ignored")]
    with pytest.raises(LocalProtocolError, match="not open"):
        await desk.nes.save(URI)
