"""What a suggestion looks like, before anything is painted."""

from __future__ import annotations

import pytest

from parley.nes._documents.document import Document
from parley.nes.client import EditSuggestion, JumpSuggestion, ReplaceSuggestion
from parley.nes.engine import Span, Spot, TextEdit
from parley.tui.editor.suggestion_view import (
    Mark,
    Row,
    diff_rows,
    marks_in_text,
    suggestion_heading,
)

URI = "file:///a.py"
TEXT = "a = 1\nb = 2\nc = 3\n"


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> TextEdit:
    return TextEdit(Span(Spot(*start), Spot(*end)), text)


def suggest(*edits: TextEdit, **meta: object) -> EditSuggestion:
    return EditSuggestion(id="1", uri=URI, edits=edits, meta={"parley": meta})


def document() -> Document:
    return Document(URI, "python", 1, TEXT)


@pytest.mark.parametrize(
    ("given", "marks"),
    [
        (edit((0, 4), (0, 5), "10"), [Mark(0, 4, 5, "10")]),
        (edit((0, 5), (0, 5), "\nx\ny"), [Mark(0, 5, 5, " \u21b5 x")]),
        (edit((1, 0), (1, 0), "x\n"), [Mark(0, 5, 5, " \u21b5 x")]),
        (edit((0, 0), (0, 0), "x\n"), [Mark(0, 0, 0, " \u21b5 x")]),
        (edit((0, 4), (2, 1), ""), [Mark(0, 4, 5, ""), Mark(1, 0, 5, ""), Mark(2, 0, 1, "")]),
        (edit((0, 5), (1, 0), ""), []),
    ],
)
def test_a_change_is_marked_in_the_lines_that_it_is_in(given: TextEdit, marks: list[Mark]) -> None:
    assert marks_in_text(suggest(given), document()) == marks


@pytest.mark.parametrize(
    ("edits", "rows"),
    [
        ([edit((1, 4), (1, 5), "20")], [Row("removed", 2, "b = 2"), Row("added", 2, "b = 20")]),
        ([edit((0, 5), (0, 5), "\nx")], [Row("added", 2, "x")]),
        ([edit((1, 0), (2, 0), "")], [Row("removed", 2, "b = 2")]),
        (
            [edit((0, 0), (0, 0), "x\n"), edit((2, 4), (2, 5), "30")],
            [Row("added", 1, "x"), Row("removed", 3, "c = 3"), Row("added", 4, "c = 30")],
        ),
    ],
)
def test_the_diff_has_the_lines_that_change_and_their_numbers(
    edits: list[TextEdit], rows: list[Row]
) -> None:
    assert diff_rows(suggest(*edits), document()) == rows


def test_words_that_are_replaced_are_marked_as_a_whole() -> None:
    text = Document(URI, "python", 1, "self.old_items = 1\n")
    (mark,) = marks_in_text(suggest(edit((0, 9), (0, 13), "good")), text)
    assert mark == Mark(0, 5, 14, "old_goods")
    for (start, end), ghost in (((9, 9), "new_"), ((9, 13), ""), ((15, 16), "+=")):
        (mark,) = marks_in_text(suggest(edit((0, start), (0, end), ghost)), text)
        assert mark == Mark(0, start, end, ghost)


def test_a_jump_is_marked_at_the_end_of_its_line() -> None:
    jump = JumpSuggestion(id="1", uri=URI, spot=Spot(1, 2))
    assert marks_in_text(jump, document()) == [Mark(1, 5, 5, " \u2190 ")]
    assert diff_rows(jump, document()) == [Row("place", 2, "b = 2")]
    assert suggestion_heading(jump) == "Go there"


def test_the_heading_says_what_the_engine_says_about_it() -> None:
    given = edit((0, 0), (0, 1), "x")
    full = suggest(given, rule="repeat", score=0.834, remaining=3)
    assert suggestion_heading(full) == "Next edit \u00b7 repeat \u00b7 83% \u00b7 3 more"
    assert suggestion_heading(suggest(given, rule=3, score="high", remaining=0)) == "Next edit"


def test_what_this_editor_does_not_know_it_does_not_mark() -> None:
    replace = ReplaceSuggestion(id="1", uri=URI, search="a", replace="b")
    assert marks_in_text(replace, document()) == []
    assert diff_rows(replace, document()) == []
