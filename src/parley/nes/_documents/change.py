"""Places in a text, and one change of it: code points, whatever the wire counts."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Spot(NamedTuple):
    """A place between two characters: line and column from 0, in code points."""

    line: int
    column: int


class Span(NamedTuple):
    """A piece of a text; the end is not part of it."""

    start: Spot
    end: Spot


class Change(Struct, frozen=True):
    """One change that was made to a document."""

    span: Span
    """The replaced range of the text before it."""
    old: str
    """The old text."""
    new: str
    """The new text."""
