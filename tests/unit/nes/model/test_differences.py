"""The smallest edits that lead from a window to what a model wrote, whatever that is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.differences import differences
from parley.nes._documents.document import Document
from parley.nes.engine import Span, Spot, TextEdit
from parley.nes.model._differences import edits_of
from parley.nes.model._window import window_around

LINES = st.lists(st.text(alphabet="ab \U0001f600\u00e9", max_size=4), min_size=1, max_size=8)


def edited(text: str, spot: Spot, new: str, *, lines: int = 21) -> tuple[list[TextEdit], str]:
    document = Document("file:///a.txt", "", 1, text)
    window = window_around(document, spot, lines=lines)
    assert window is not None
    edits = list(edits_of(window, differences(window.text, new)))
    assert all(one.span.end < other.span.start for one, other in pairwise(edits))
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        document.edit(edit.span, edit.text)
    return edits, document.text


@given(LINES, LINES, st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_edits_lead_to_the_new_text(old: list[str], new: list[str], end: str) -> None:
    _, text = edited(end.join(old), Spot(0, 0), "\n".join(new))
    line_end = end if len(old) > 1 else "\n"
    assert text == line_end.join(new)


@given(LINES, st.integers(0, 30))
def test_nothing_outside_the_window_is_touched(new: list[str], line: int) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    edits, after = edited(text, Spot(line, 0), "\n".join(new), lines=5)
    first, last = max(0, line - 2), min(30, line + 2)
    lines = text.split("\n")
    assert after == "\n".join((*lines[:first], *new, *lines[last + 1 :]))
    assert all(edit.span.start.line >= first and edit.span.end.line <= last for edit in edits)


@pytest.mark.parametrize(
    ("old", "new", "edits"),
    [
        ("a = 1\nb = 2", "a = 1\nb = 25", [TextEdit(Span(Spot(1, 5), Spot(1, 5)), "5")]),
        ("foo(x)", "bar(x)", [TextEdit(Span(Spot(0, 0), Spot(0, 3)), "bar")]),
        ("a\nc", "a\nb\nc", [TextEdit(Span(Spot(0, 1), Spot(0, 1)), "\nb")]),
        ("b", "a\nb", [TextEdit(Span(Spot(0, 0), Spot(0, 0)), "a\n")]),
        ("a\nb\nc", "a\nc", [TextEdit(Span(Spot(1, 0), Spot(2, 0)), "")]),
        ("a\nb", "a", [TextEdit(Span(Spot(0, 1), Spot(1, 1)), "")]),
        ("", "a\n\n", [TextEdit(Span(Spot(0, 0), Spot(0, 0)), "a\n\n")]),
        (
            "x1\ny\nx2",
            "z1\ny\nz2",
            [
                TextEdit(Span(Spot(0, 0), Spot(0, 1)), "z"),
                TextEdit(Span(Spot(2, 0), Spot(2, 1)), "z"),
            ],
        ),
    ],
)
def test_an_edit_is_as_small_as_it_can_be(old: str, new: str, edits: list[TextEdit]) -> None:
    found, text = edited(old, Spot(0, 0), new)
    assert found == edits
    assert text == new
