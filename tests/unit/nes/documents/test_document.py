from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document, content, split_lines

texts = st.text(st.sampled_from("ab😀é\n\r\t\x0b\u2028"), max_size=24)
spots = st.builds(Spot, st.integers(0, 8), st.integers(0, 8))


def document(text: str) -> Document:
    return Document("file:///a.py", "python", 1, text)


def offset(text: str, spot: Spot) -> int:
    """Where a clamped spot is, found by counting in the plain text."""
    starts = [0, *(found.end() for found in re.finditer("\r\n|\n|\r", text))]
    if spot.line >= len(starts):
        return len(text)
    rest = re.match("[^\r\n]*", text[starts[spot.line] :])
    assert rest is not None
    return starts[spot.line] + min(spot.column, rest.end())


def test_lines_end_at_the_three_line_ends_and_nowhere_else() -> None:
    assert split_lines("a\nb\r\nc\rd\x0be\u2028f") == ["a\n", "b\r\n", "c\r", "d\x0be\u2028f"]
    assert split_lines("a\n") == ["a\n", ""]
    assert split_lines("") == [""]
    assert content("a\r\n") == "a"


@given(texts, st.lists(st.tuples(spots, spots, texts), max_size=6))
def test_edits_do_what_they_do_to_a_plain_text(
    text: str, edits: list[tuple[Spot, Spot, str]]
) -> None:
    kept = document(text)
    for one, other, new in edits:
        start, end = sorted((offset(text, one), offset(text, other)))
        change = kept.edit(Span(one, other), new)
        assert (change.old, change.new) == (text[start:end], new)
        assert offset(text, change.span.start) == start
        assert offset(text, change.span.end) == end
        text = text[:start] + new + text[end:]
        assert kept.lines == split_lines(text)
        assert kept.text == text


@given(texts, texts)
def test_a_replaced_text_says_what_differs_and_no_more(text: str, new: str) -> None:
    kept, again = document(text), document(text)
    change = kept.replace(new)
    assert kept.lines == split_lines(new)
    assert kept.text == new
    again.edit(change.span, change.new)
    assert again.text == new
    if text == new:
        assert (change.old, change.new) == ("", "")


def test_a_replaced_text_keeps_what_is_the_same() -> None:
    kept = document("one\ntwo three\nfour\n")
    change = kept.replace("one\ntwo 3\nfour\n")
    assert change == Change(Span(Spot(1, 4), Spot(1, 9)), "three", "3")


def test_a_place_outside_is_moved_to_the_nearest_inside() -> None:
    kept = document("ab\r\ncd")
    assert kept.clamp(Spot(0, 9)) == Spot(0, 2)
    assert kept.clamp(Spot(7, 0)) == Spot(1, 2) == kept.end
    assert kept.clamp(Spot(-1, 4)) == Spot(0, 0)
    assert kept.clamp(Spot(1, -4)) == Spot(1, 0)
    assert kept.edit(Span(Spot(9, 9), Spot(9, 9)), "!").span == Span(Spot(1, 2), Spot(1, 2))
    assert kept.text == "ab\r\ncd!"


def test_a_line_feed_behind_a_carriage_return_makes_one_line_end() -> None:
    kept = document("a\rb\n")
    kept.edit(Span(Spot(1, 0), Spot(1, 1)), "")
    assert kept.lines == ["a\r\n", ""]


def test_only_touched_lines_are_replaced() -> None:
    kept = document("line\n" * 1000)
    before = list(kept.lines)
    kept.edit(Span(Spot(500, 1), Spot(502, 1)), "x\ny")
    assert all(one is other for one, other in zip(before[:500], kept.lines, strict=False))
    assert all(one is other for one, other in zip(before[503:], kept.lines[502:], strict=True))
    assert kept.between(Span(Spot(500, 0), Spot(502, 0))) == "lx\nyine\n"
