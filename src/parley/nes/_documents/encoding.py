"""Columns as a client counts them, and as code points; a column that is outside is moved inside.

A line may be given with or without its end; the end is never part of a column. What lies within a
character, between its bytes or its two halves, counts as before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from parley.schema.v2 import Position, PositionEncodingKind, Range

from .change import Span, Spot
from .document import Document, content

Encoding: TypeAlias = PositionEncodingKind
"""The unit of characters in positions: UTF-16 units, code points, or bytes."""

_KEEP = "surrogatepass"


def choose_encoding(offered: Sequence[Encoding]) -> Encoding:
    """Return the first of a client's encodings; `utf-16` if it has named none."""
    return offered[0] if offered else "utf-16"


def to_column(line: str, character: int, encoding: Encoding) -> int:
    """Return the column in code points of a place that a client counts in its way."""
    text = content(line)
    character = max(0, character)
    if encoding == "utf-32" or text.isascii():
        return min(character, len(text))
    if encoding == "utf-8":
        units = text.encode("utf-8", _KEEP)
        while 0 < character < len(units) and units[character] & 0xC0 == 0x80:
            character -= 1
        return len(units[:character].decode("utf-8", _KEEP))
    units = text.encode("utf-16-le", _KEEP)
    cut = 2 * character
    if 0 < cut < len(units) and units[cut - 1] & 0xFC == 0xD8 and units[cut + 1] & 0xFC == 0xDC:
        cut -= 2
    return len(units[:cut].decode("utf-16-le", _KEEP))


def to_character(line: str, column: int, encoding: Encoding) -> int:
    """Return how a client counts a column that is given in code points."""
    text = content(line)
    column = max(0, min(column, len(text)))
    if encoding == "utf-32" or text.isascii():
        return column
    if encoding == "utf-8":
        return len(text[:column].encode("utf-8", _KEEP))
    return len(text[:column].encode("utf-16-le", _KEEP)) // 2


def spot_of(document: Document, position: Position, encoding: Encoding) -> Spot:
    """Return the place in a document that a client means."""
    if position.line >= len(document.lines):
        return document.end
    line = document.lines[position.line]
    return Spot(position.line, to_column(line, position.character, encoding))


def span_of(document: Document, range: Range, encoding: Encoding) -> Span:
    """Return the piece of a document that a client means."""
    return Span(spot_of(document, range.start, encoding), spot_of(document, range.end, encoding))


def position_of(document: Document, spot: Spot, encoding: Encoding) -> Position:
    """Return a place as a client counts it."""
    line, column = document.clamp(spot)
    return Position(line=line, character=to_character(document.lines[line], column, encoding))


def range_of(document: Document, span: Span, encoding: Encoding) -> Range:
    """Return a piece of a document as a client counts it."""
    return Range(
        start=position_of(document, span.start, encoding),
        end=position_of(document, span.end, encoding),
    )
