"""Edits in the two shapes that editors take: one replacement anywhere, or one at the cursor.

An inline edit (`textDocument/copilotInlineEdit`) replaces any piece of a document. Some editors
take several of them as alternatives and some apply all, so a proposal becomes one. An inline
completion (`textDocument/inlineCompletion`) replaces a piece of the cursor's line that has the
cursor in it or at its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.nes._documents.document import Document, content
from parley.nes.engine import Span, Spot, TextEdit

_MAX_LINES = 12
"""The most lines between changes of one edit."""


def as_one(document: Document, edits: Sequence[TextEdit], spot: Spot) -> TextEdit:
    """Join edits that are near each other; else return the one that is nearest to the cursor."""
    ordered = sorted(edits, key=lambda each: each.span)
    top, bottom = ordered[0].span.start, ordered[-1].span.end
    if bottom.line - top.line > _MAX_LINES:
        return min(ordered, key=lambda each: abs(each.span.start.line - spot.line))
    parts: list[str] = []
    at = top
    for edit in ordered:
        parts += [document.between(Span(at, edit.span.start)), edit.text]
        at = edit.span.end
    return TextEdit(Span(top, bottom), "".join(parts))


def as_completion(document: Document, edit: TextEdit, spot: Spot) -> TextEdit | None:
    """Return an edit as a completion at the cursor; None if it is none."""
    line = content(document.lines[spot.line])
    edit = _pulled_up(edit, spot, line)
    start, end = edit.span
    if not start.line == end.line == spot.line:
        return None
    if "\n" in edit.text and spot.column < start.column:
        return None
    before = line[spot.column : start.column]
    after = line[end.column : spot.column]
    columns = min(start.column, spot.column), max(end.column, spot.column)
    text = before + edit.text + after
    if not text or text == line[columns[0] : columns[1]]:
        return None
    return TextEdit(Span(Spot(spot.line, columns[0]), Spot(spot.line, columns[1])), text)


def _pulled_up(edit: TextEdit, spot: Spot, line: str) -> TextEdit:
    """Return an insertion of lines below the cursor's line as one at the end of that line."""
    is_below = edit.span.start == edit.span.end == Spot(spot.line + 1, 0)
    if not is_below or not edit.text.endswith("\n") or spot.column < len(line):
        return edit
    end = Spot(spot.line, len(line))
    ending = "\r\n" if edit.text.endswith("\r\n") else "\n"
    return TextEdit(Span(end, end), ending + edit.text.removesuffix(ending))
