"""Where places and edits are after the text has changed under them.

While the user types what was proposed, an edit stays and gets shorter: a change must be made
exactly where the edit is, and its text must be how the edit's text begins. An editor that closes a
bracket by itself does not disturb this. A change elsewhere moves an edit. Anything else ends it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from msgspec import Struct

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import split_lines

from .engine import TextEdit

_PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "`": "`"}


class Step(Struct, frozen=True):
    """One change as the user made it."""

    uri: str
    change: Change
    cursor: Spot
    """Where the cursor is afterwards."""
    before: str
    """The character before the change; empty at the beginning of a line."""


class Left(NamedTuple):
    """The rest of edits after a change."""

    edits: tuple[TextEdit, ...]
    is_typed: bool
    """Whether the user typed a part of them."""


def moved(spot: Spot, change: Change) -> Spot | None:
    """Return where a place is after a change; None if it was within what was replaced."""
    start, end = change.span
    if spot <= start:
        return spot
    if spot < end:
        return None
    new_end = end_after(start, change.new)
    if spot.line > end.line:
        return Spot(spot.line + new_end.line - end.line, spot.column)
    return Spot(new_end.line, new_end.column + spot.column - end.column)


def rebased(edits: Sequence[TextEdit], step: Step) -> Left | None:
    """Return edits of one document as they are after a change of it; None if they are over.

    Those that have been typed to their end are over too.
    """
    left: list[TextEdit] = []
    is_typed = False
    for edit in edits:
        rest = None if is_typed else _typed(edit, step)
        if rest is not None:
            is_typed = True
            left += rest
        elif _touches(edit.span, step.change.span):
            return None
        else:
            left.append(TextEdit(_moved_span(edit.span, step.change), edit.text))
    return Left(tuple(left), is_typed) if left else None


def _touches(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _moved_span(span: Span, change: Change) -> Span:
    start, end = moved(span.start, change), moved(span.end, change)
    assert start is not None
    assert end is not None
    return Span(start, end)


def beyond(spot: Spot, edits: Sequence[TextEdit]) -> Spot:
    """Return where a place is once edits are made that do not touch it."""
    for edit in reversed(edits):
        spot = moved(spot, Change(edit.span, "", edit.text)) or spot
    return spot


def _typed(edit: TextEdit, step: Step) -> list[TextEdit] | None:
    """Return what is left of an edit when a change is a part of it; None if it is not."""
    change = step.change
    whole = TextEdit(change.span, change.new)
    for made in (whole, trimmed(whole, change.old)):
        if made.span == edit.span and (rest := _rest(edit, made, step)) is not None:
            return rest
    return None


def _rest(edit: TextEdit, made: TextEdit, step: Step) -> list[TextEdit] | None:
    start, typed = made.span.start, made.text
    if edit.text.startswith(typed):
        at = end_after(start, typed)
        rest = edit.text[len(typed) :]
        return [TextEdit(Span(at, at), rest)] if rest else []
    begun, closing = typed[:-1], typed[-1:]
    if begun and _PAIRS.get(begun[-1]) == closing and edit.text.startswith(begun):
        return _around(end_after(start, begun), edit.text[len(begun) :], closing)
    is_closed_by_editor = _PAIRS.get(step.before) == typed and step.cursor == start
    if is_closed_by_editor and made.span.start == made.span.end:
        return _around(start, edit.text, typed)
    return None


def _around(at: Spot, rest: str, closing: str) -> list[TextEdit]:
    """Return what is left when an editor has put the closing half of a pair at a place."""
    end = Spot(at.line, at.column + 1)
    where = _closing_place(rest, closing)
    if where is None:
        return [TextEdit(Span(at, end), rest)]
    parts = (TextEdit(Span(at, at), rest[:where]), TextEdit(Span(end, end), rest[where + 1 :]))
    return [each for each in parts if each.text]


def _closing_place(text: str, closing: str) -> int | None:
    """Return where in a text a pair is closed that was opened before it."""
    opening = next(each for each, other in _PAIRS.items() if other == closing)
    depth = 0
    for place, character in enumerate(text):
        if character == closing and depth == 0:
            return place
        if character == closing:
            depth -= 1
        elif character == opening:
            depth += 1
    return None


def end_after(spot: Spot, text: str) -> Spot:
    """Return where a text ends that begins at a place."""
    lines = split_lines(text)
    if len(lines) == 1:
        return Spot(spot.line, spot.column + len(text))
    return Spot(spot.line + len(lines) - 1, len(lines[-1]))


def trimmed(edit: TextEdit, old: str) -> TextEdit:
    """Return an edit without what it leaves as it is; `old` is what stands there."""
    new = edit.text
    head = _head(old, new)
    old, new = old[head:], new[head:]
    start = end_after(edit.span.start, edit.text[:head])
    tail = _head(old[::-1], new[::-1], "\n\r")
    end = len(old) - tail
    return TextEdit(Span(start, end_after(start, old[:end])), new[: len(new) - tail])


def _head(one: str, other: str, line_end: str = "\r\n") -> int:
    """Return how much two texts have in common at the beginning, line ends uncut."""
    pairs = zip(one, other, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    cuts = any(each[max(same - 1, 0) : same + 1] == line_end for each in (one, other))
    return same - 1 if same and cuts else same
