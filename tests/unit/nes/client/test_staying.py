"""A suggestion stays while the user types it, moves with changes elsewhere, and ends otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document
from parley.nes._rebase import Step, moved, trimmed
from parley.nes.client._suggestion import (
    EditSuggestion,
    JumpSuggestion,
    RenameSuggestion,
    ReplaceSuggestion,
    applied,
    follow,
)
from parley.nes.engine import TextEdit

from .editor import URI, open_editor, span


def edit(*edits: TextEdit, cursor: Spot | None = None) -> EditSuggestion:
    return EditSuggestion(id="x", uri=URI, edits=edits, cursor=cursor)


def insertion(line: int, column: int, text: str) -> EditSuggestion:
    return edit(TextEdit(span(line, column), text))


def step(
    place: Span, new: str, old: str = "", *, cursor: Spot | None = None, before: str = ""
) -> Step:
    change = Change(place, old, new)
    end = moved(place.end, change) if old or place.start != place.end else None
    return Step(URI, change, cursor or end or place.start, before)


def left(suggestion: EditSuggestion, *steps: Step) -> tuple[TextEdit, ...] | None:
    """Return the edits that are left after some steps; None if it has ended."""
    for each in steps:
        followed = follow(suggestion, each)
        if followed is None:
            return None
        assert isinstance(followed.suggestion, EditSuggestion)
        suggestion = followed.suggestion
    return suggestion.edits


def test_what_is_typed_goes_from_the_beginning_of_a_suggestion() -> None:
    suggestion = insertion(0, 3, "abc")
    assert left(suggestion, step(span(0, 3), "a")) == (TextEdit(span(0, 4), "bc"),)
    assert left(suggestion, step(span(0, 3), "a"), step(span(0, 4), "b")) == (
        TextEdit(span(0, 5), "c"),
    )


def test_a_suggestion_that_is_typed_to_its_end_is_over() -> None:
    assert left(insertion(0, 3, "ab"), step(span(0, 3), "ab")) is None


@pytest.mark.parametrize(
    ("place", "typed"), [(span(0, 3), "x"), (span(0, 3), "abd"), (span(0, 3), "abcd")]
)
def test_anything_else_at_the_same_place_ends_it(place: Span, typed: str) -> None:
    assert left(insertion(0, 3, "abc"), step(place, typed)) is None


def test_lines_may_be_typed_too() -> None:
    suggestion = insertion(2, 4, "\n    return x\n")
    assert left(suggestion, step(span(2, 4), "\n    ")) == (TextEdit(span(3, 4), "return x\n"),)


def test_a_replacement_can_be_typed_over_what_is_selected() -> None:
    suggestion = edit(TextEdit(span(0, 1, 0, 4), "new"))
    assert left(suggestion, step(span(0, 1, 0, 4), "n", "old")) == (TextEdit(span(0, 2), "ew"),)
    assert left(suggestion, step(span(0, 1, 0, 4), "", "old")) == (TextEdit(span(0, 1), "new"),)
    assert left(suggestion, step(span(0, 1, 0, 3), "", "ol")) is None


def test_what_a_completion_leaves_as_it_is_does_not_count() -> None:
    suggestion = insertion(0, 6, "name = 1")
    done = step(span(0, 3, 0, 6), "foona", "foo")
    assert left(suggestion, done) == (TextEdit(span(0, 8), "me = 1"),)


def test_a_change_elsewhere_moves_it() -> None:
    suggestion = edit(TextEdit(span(5, 2, 5, 4), "x"), TextEdit(span(7, 0), "y"))
    assert left(suggestion, step(span(1, 0), "\n\n")) == (
        TextEdit(span(7, 2, 7, 4), "x"),
        TextEdit(span(9, 0), "y"),
    )
    assert left(suggestion, step(span(5, 0), "ab")) == (
        TextEdit(span(5, 4, 5, 6), "x"),
        TextEdit(span(7, 0), "y"),
    )
    assert left(suggestion, step(span(9, 0), "\n")) == suggestion.edits
    assert left(suggestion, step(span(3, 0, 4, 0), "", "abc\n")) == (
        TextEdit(span(4, 2, 4, 4), "x"),
        TextEdit(span(6, 0), "y"),
    )


@pytest.mark.parametrize("place", [span(5, 2), span(5, 3), span(5, 4), span(4, 0, 6, 0)])
def test_a_change_that_touches_it_ends_it(place: Span) -> None:
    suggestion = edit(TextEdit(span(5, 2, 5, 4), "x"))
    assert left(suggestion, step(place, "q", "\n" if place.start != place.end else "")) is None


def test_one_of_several_edits_is_typed_and_the_others_stay() -> None:
    suggestion = edit(TextEdit(span(0, 2), "abc"), TextEdit(span(0, 9), "d"))
    assert left(suggestion, step(span(0, 2), "ab")) == (
        TextEdit(span(0, 4), "c"),
        TextEdit(span(0, 11), "d"),
    )
    assert left(suggestion, step(span(0, 2), "abc")) == (TextEdit(span(0, 12), "d"),)


@pytest.mark.parametrize("pair", ["()", "[]", "{}", '""', "''", "``"])
def test_a_pair_that_the_editor_closes_by_itself_is_taken_in(pair: str) -> None:
    suggestion = insertion(0, 4, f"{pair[0]}a, b{pair[1]}")
    inside = (TextEdit(span(0, 5), "a, b"),)
    assert left(suggestion, step(span(0, 4), pair, cursor=Spot(0, 5))) == inside
    opened = step(span(0, 4), pair[0])
    closed = step(span(0, 5), pair[1], cursor=Spot(0, 5), before=pair[0])
    assert left(suggestion, opened, closed) == inside


def test_what_is_behind_a_closed_pair_stays_suggested() -> None:
    suggestion = insertion(0, 2, "(x(1)):\n")
    assert left(suggestion, step(span(0, 2), "()")) == (
        TextEdit(span(0, 3), "x(1)"),
        TextEdit(span(0, 4), ":\n"),
    )


def test_a_bracket_that_is_not_suggested_is_taken_away_again() -> None:
    assert left(insertion(0, 2, "(a,\n"), step(span(0, 2), "()")) == (
        TextEdit(span(0, 3, 0, 4), "a,\n"),
    )


def test_a_bracket_that_the_user_closes_is_no_part_of_it() -> None:
    closed = step(span(0, 5), ")", cursor=Spot(0, 6), before="(")
    assert left(insertion(0, 5, "a)"), closed) is None


def test_the_cursor_of_a_suggestion_moves_with_changes_elsewhere() -> None:
    suggestion = edit(TextEdit(span(5, 0), "one\ntwo"), cursor=Spot(6, 3))
    for place, new, expected in (
        (span(1, 0), "\n", Spot(7, 3)),
        (span(9, 0), "\n", Spot(6, 3)),
        (span(5, 0), "one", Spot(6, 3)),
    ):
        followed = follow(suggestion, step(place, new))
        assert followed is not None
        assert isinstance(followed.suggestion, EditSuggestion)
        assert followed.suggestion.cursor == expected


def test_places_of_jumps_and_renames_move_and_end_with_what_they_are_in() -> None:
    jump = JumpSuggestion(id="j", uri=URI, spot=Spot(4, 2))
    rename = RenameSuggestion(id="r", uri=URI, spot=Spot(4, 2), new_name="b")
    for each in (jump, rename):
        followed = follow(each, step(span(0, 0), "\n"))
        assert followed is not None
        assert getattr(followed.suggestion, "spot", None) == Spot(5, 2)
        assert follow(each, step(span(4, 0, 4, 5), "", "abcde")) is None


def test_other_documents_and_replacements_are_not_disturbed() -> None:
    change = step(span(0, 3), "x")
    other = Step("file:///w/b.py", change.change, change.cursor, "")
    assert left(insertion(0, 3, "abc"), other) == (TextEdit(span(0, 3), "abc"),)
    replacement = ReplaceSuggestion(id="s", uri=URI, search="a", replace="b")
    followed = follow(replacement, change)
    assert followed is not None
    assert followed.suggestion == replacement


WORDS = st.text(alphabet="ab(\n", max_size=6)


@given(WORDS, WORDS, st.data())
def test_what_is_left_leads_to_the_same_text(start: str, new: str, data: st.DataObject) -> None:
    """What is suggested does not change, whatever of it the user types, and what he adds stays."""
    document = Document(URI, "", 1, start)
    line = data.draw(st.integers(0, len(document.lines) - 1))
    column = data.draw(st.integers(0, len(document.lines[line].rstrip("\n"))))
    place = Spot(line, column)
    suggestion = edit(TextEdit(Span(place, place), new or "a"))
    target = applied(document, suggestion.edits)
    typed = data.draw(st.integers(0, len(new or "a")))
    change = document.edit(Span(place, place), (new or "a")[:typed])
    followed = follow(suggestion, Step(URI, change, place, ""))
    if followed is not None:
        assert isinstance(followed.suggestion, EditSuggestion)
        assert applied(document, followed.suggestion.edits).text == target.text
    else:
        assert document.text == target.text


@given(st.text(alphabet="a\r\n", max_size=8), st.text(alphabet="a\r\n", max_size=8))
def test_a_trimmed_edit_does_the_same(old: str, new: str) -> None:
    before = f"x{old}y"
    document = Document(URI, "", 1, before)
    first = Document(URI, "", 1, f"x{old}").end
    whole = TextEdit(Span(Spot(0, 1), first), new)
    cut = trimmed(whole, old)
    assert applied(document, (cut,)).text == f"x{new}y"
    assert len(cut.text) <= len(new)


async def test_a_client_keeps_what_is_typed_and_asks_nothing_meanwhile() -> None:
    async with open_editor("x = ") as editor:
        await editor.type("f", 0, 4)
        await editor.shown(editor.agent.edit("s", ((0, 5, 0, 5), "oo(bar)")))
        for text, column in (("o", 5), ("o", 6), ("()", 7), ("b", 8)):
            await editor.type(text, 0, column, Spot(0, column + 1))
            assert editor.target == "x = foo(bar)"
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 1
        await editor.type("!", 0, 9)
        assert editor.nes.shown is None
        await editor.settle()
        assert editor.agent.outcomes == [("s", "ignored")]


async def test_what_is_typed_again_stays_suggested() -> None:
    async with open_editor("xfo") as editor:
        await editor.nes.change(URI, TextEdit(span(0, 2, 0, 3), ""))
        await editor.shown(editor.agent.edit("s", ((0, 2, 0, 2), "oo")))
        await editor.type("o", 0, 2)
        assert editor.target == "xfoo"


async def test_a_client_moves_what_is_shown_and_asks_again() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.type("x", 1, 1)
        await editor.shown(editor.agent.edit("s", ((1, 2, 1, 2), "tail")))
        await editor.type("\n", 0, 1)
        assert editor.target == "a\n\nbxtail\n"
        assert (await editor.question())["params"]["version"] == 3
        await editor.settle()
        assert editor.agent.outcomes == []
