from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.change import Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.encoding import (
    Encoding,
    choose_encoding,
    position_of,
    range_of,
    span_of,
    spot_of,
    to_character,
    to_column,
)
from parley.schema.v2 import Position, Range

ENCODINGS: tuple[Encoding, ...] = ("utf-16", "utf-32", "utf-8")
WIDTHS: dict[Encoding, Callable[[str], int]] = {
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
    "utf-8": lambda text: len(text.encode()),
}

contents = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)
ends = st.sampled_from(["", "\n", "\r\n", "\r"])
encodings = st.sampled_from(ENCODINGS)


@pytest.mark.requirement("V1-NES-15", "V2-NES-05")
def test_a_smiley_is_two_units_or_one_code_point_or_four_bytes() -> None:
    assert [to_character("a😀b", 2, each) for each in ENCODINGS] == [3, 2, 5]
    assert [to_column("a😀b", at, each) for at, each in zip((3, 2, 5), ENCODINGS, strict=True)] == [
        2,
        2,
        2,
    ]


@given(contents, ends, encodings, st.data())
def test_a_column_survives_the_way_to_the_client_and_back(
    text: str, end: str, encoding: Encoding, data: st.DataObject
) -> None:
    column = data.draw(st.integers(0, len(text)))
    character = to_character(text + end, column, encoding)
    assert character == WIDTHS[encoding](text[:column])
    assert to_column(text + end, character, encoding) == column


@given(contents, ends, encodings, st.integers(-3, 60))
def test_any_number_means_a_place_in_the_line(
    text: str, end: str, encoding: Encoding, character: int
) -> None:
    column = to_column(text + end, character, encoding)
    widths = [WIDTHS[encoding](text[:each]) for each in range(len(text) + 1)]
    assert column == max(at for at, width in enumerate(widths) if width <= max(0, character))


@pytest.mark.parametrize(("encoding", "character"), [("utf-16", 2), ("utf-8", 2), ("utf-8", 4)])
def test_the_middle_of_a_character_is_before_it(encoding: Encoding, character: int) -> None:
    assert to_column("a😀b", character, encoding) == 1


def test_halves_of_characters_that_stand_alone_are_characters() -> None:
    for encoding in ENCODINGS:
        for column in range(4):
            character = to_character("\ud83da\ude00", column, encoding)
            assert to_column("\ud83da\ude00", character, encoding) == column


def test_a_place_outside_of_the_document_is_moved_inside() -> None:
    document = Document("file:///a", "text", 1, "é\r\n😀x")
    assert spot_of(document, Position(line=0, character=99), "utf-8") == Spot(0, 1)
    assert spot_of(document, Position(line=9, character=0), "utf-8") == Spot(1, 2)
    assert position_of(document, Spot(1, 9), "utf-16") == Position(line=1, character=3)


def test_a_range_has_two_places() -> None:
    document = Document("file:///a", "text", 1, "é\n😀x")
    wire = Range(start=Position(line=0, character=2), end=Position(line=1, character=4))
    assert span_of(document, wire, "utf-8") == Span(Spot(0, 1), Spot(1, 1))
    assert range_of(document, Span(Spot(0, 1), Spot(1, 1)), "utf-8") == wire


def test_the_client_s_first_encoding_is_taken() -> None:
    assert choose_encoding(["utf-8", "utf-16"]) == "utf-8"
    assert choose_encoding([]) == "utf-16"
