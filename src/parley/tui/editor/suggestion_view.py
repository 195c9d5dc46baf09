"""The view of a suggestion: marks within lines, and a few lines of a diff.

A change within one line is shown in place: removed text is struck through, and new text follows as
ghost text. Everything else appears in the diff only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from parley.nes._documents.differences import differences
from parley.nes._documents.document import Document, content
from parley.nes.client import EditSuggestion, JumpSuggestion, Suggestion
from parley.nes.client._suggestion import applied
from parley.nes.engine import META, TextEdit

__all__ = ["Mark", "Row", "diff_rows", "marks_in_text", "refusal_text", "suggestion_heading"]

Kind: TypeAlias = Literal["removed", "added", "place"]
NEW_LINE = " \u21b5 "
"""Stands in ghost text where a new line begins."""
JUMP = " \u2190 "
"""Stands at the end of the line that a jump leads to."""


class Mark(NamedTuple):
    """A mark in a line: removed text, and the new text after it."""

    line: int
    start: int
    end: int
    ghost: str


class Row(NamedTuple):
    """A line of the diff, or the target line of a jump."""

    kind: Kind
    number: int
    """Of the line, counted from 1."""
    text: str


def marks_in_text(suggestion: Suggestion, document: Document) -> list[Mark]:
    """Return the marks for the text."""
    if isinstance(suggestion, JumpSuggestion):
        line = document.clamp(suggestion.spot).line
        end = len(content(document.lines[line]))
        return [Mark(line, end, end, JUMP)]
    if not isinstance(suggestion, EditSuggestion):
        return []
    return [mark for edit in suggestion.edits for mark in _marks(edit, document)]


def _marks(edit: TextEdit, document: Document) -> Iterator[Mark]:
    start, end = edit.span
    if start.line == end.line and "\n" not in edit.text:
        yield _whole_words(edit, content(document.lines[start.line]))
        return
    if start == end:
        # Whole lines that come: their beginning is seen where they come.
        text = edit.text if start.column else f"\n{edit.text.rstrip()}"
        head, _, tail = text.replace("\r\n", "\n").partition("\n")
        line = start.line if start.column or not start.line else start.line - 1
        column = len(content(document.lines[line])) if line < start.line else start.column
        yield Mark(line, column, column, f"{head}{NEW_LINE}{tail.partition(chr(10))[0].strip()}")
        return
    for line in range(start.line, end.line + 1):
        width = len(content(document.lines[line]))
        first = start.column if line == start.line else 0
        last = end.column if line == end.line else width
        if last > first:
            yield Mark(line, first, last, "")


def _whole_words(edit: TextEdit, line: str) -> Mark:
    """Return the mark of a change within a line; words are replaced as a whole."""
    (number, start), (_, end) = edit.span
    ghost = edit.text
    if start < end and ghost:
        while start and _is_word(line[start - 1 : start + 1]):
            start -= 1
            ghost = line[start] + ghost
        while end < len(line) and _is_word(line[end - 1 : end + 1]):
            ghost += line[end]
            end += 1
    return Mark(number, start, end, ghost)


def _is_word(text: str) -> bool:
    return text.replace("_", "a").isalnum()


def diff_rows(suggestion: Suggestion, document: Document) -> list[Row]:
    """Return the changed lines before and after."""
    if isinstance(suggestion, JumpSuggestion):
        line = document.clamp(suggestion.spot).line
        return [Row("place", line + 1, content(document.lines[line]))]
    if not isinstance(suggestion, EditSuggestion):
        return []
    first = suggestion.edits[0].span.start.line
    below = len(document.lines) - 1 - suggestion.edits[-1].span.end.line
    after = applied(document, suggestion.edits)
    old = [content(line) for line in document.lines[first : len(document.lines) - below]]
    new = [content(line) for line in after.lines[first : len(after.lines) - below]]
    rows: list[Row] = []
    shift = 0
    for each in differences("\n".join(old), "\n".join(new)):
        at = first + each.line + 1
        rows += [Row("removed", at + n, text) for n, text in enumerate(each.old)]
        rows += [Row("added", at + shift + n, text) for n, text in enumerate(each.new)]
        shift += len(each.new) - len(each.old)
    return rows


def suggestion_heading(suggestion: Suggestion) -> str:
    """Return a short description of a suggestion, and the engine's explanation."""
    kind = "Go there" if isinstance(suggestion, JumpSuggestion) else "Next edit"
    about = _about(suggestion.meta)
    words = [kind]
    if isinstance(rule := about.get("rule"), str):
        words.append(rule)
    if isinstance(score := about.get("score"), int | float):
        words.append(f"{score:.0%}")
    if remaining := _remaining(suggestion):
        words.append(f"{remaining} more")
    return " \u00b7 ".join(words)


def refusal_text(suggestion: Suggestion) -> str:
    """Return the message after the user has rejected a suggestion."""
    remaining = _remaining(suggestion)
    if not remaining:
        return "It is not suggested again. F2 asks for something else."
    places = "1 more place is" if remaining == 1 else f"{remaining} more places are"
    return f"It is not suggested again. {places} left: F2 shows the next."


def _remaining(suggestion: Suggestion) -> int:
    """Return the number of remaining places, if the engine reports it."""
    found = _about(suggestion.meta).get("remaining")
    return found if isinstance(found, int) and found > 0 else 0


def _about(meta: dict[str, Any] | None) -> dict[str, Any]:
    found = (meta or {}).get(META)
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}
