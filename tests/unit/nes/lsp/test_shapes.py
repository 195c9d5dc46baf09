"""Edits as the editors take them: one anywhere, or one at the cursor."""

from __future__ import annotations

import pytest

from parley.nes._documents.document import Document
from parley.nes._lsp.shapes import as_completion, as_one
from parley.nes.engine import Span, Spot, TextEdit

TEXT = "a = 1\nb = 2\nc = 3\n" + "\n" * 20 + "z = 9\n"


def edit(line: int, start: int, end: int, text: str) -> TextEdit:
    return TextEdit(Span(Spot(line, start), Spot(line, end)), text)


def document() -> Document:
    return Document("file:///a.py", "python", 1, TEXT)


def test_edits_that_are_near_become_one() -> None:
    found = as_one(document(), [edit(2, 4, 5, "30"), edit(0, 4, 5, "10")], Spot(0, 0))
    assert found == TextEdit(Span(Spot(0, 4), Spot(2, 5)), "10\nb = 2\nc = 30")


def test_of_edits_that_are_far_apart_the_nearest_counts() -> None:
    edits = [edit(0, 4, 5, "10"), edit(23, 4, 5, "90")]
    assert as_one(document(), edits, Spot(22, 0)) == edits[1]
    assert as_one(document(), edits, Spot(3, 0)) == edits[0]


@pytest.mark.parametrize(
    ("given", "spot", "found"),
    [
        (edit(0, 5, 5, "0"), Spot(0, 5), edit(0, 5, 5, "0")),
        (edit(0, 4, 5, "10"), Spot(0, 5), edit(0, 4, 5, "10")),
        (edit(0, 5, 5, "0"), Spot(0, 2), edit(0, 2, 5, "= 10")),
        (edit(0, 0, 1, "x"), Spot(0, 5), edit(0, 0, 5, "x = 1")),
        (edit(0, 5, 5, "\nnew"), Spot(0, 5), edit(0, 5, 5, "\nnew")),
        (edit(1, 0, 0, "new\n"), Spot(0, 5), edit(0, 5, 5, "\nnew")),
        (edit(1, 0, 0, "new\r\n"), Spot(0, 5), edit(0, 5, 5, "\r\nnew")),
        (edit(1, 0, 0, "new\n"), Spot(0, 2), None),
        (edit(0, 5, 5, "\nnew"), Spot(0, 2), None),
        (edit(1, 4, 5, "20"), Spot(0, 5), None),
        (TextEdit(Span(Spot(0, 4), Spot(1, 1)), ""), Spot(0, 5), None),
        (edit(0, 4, 5, ""), Spot(0, 5), None),
        (edit(0, 4, 5, "1"), Spot(0, 5), None),
    ],
)
def test_a_completion_has_the_cursor_in_it_and_one_line(
    given: TextEdit, spot: Spot, found: TextEdit | None
) -> None:
    assert as_completion(document(), given, spot) == found
