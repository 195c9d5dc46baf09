"""The smallest edits that lead from a window to the lines of a model."""

from __future__ import annotations

from collections.abc import Iterable

from parley.nes._documents.differences import Difference
from parley.nes._documents.ends import same_ends
from parley.nes.engine import Span, TextEdit

from ._window import Window


def edits_of(window: Window, found: Iterable[Difference]) -> tuple[TextEdit, ...]:
    """Turn differences into the smallest edits of the document; those that touch become one."""
    edits: list[TextEdit] = []
    for edit in (_edit(window, each) for each in found):
        if edits and edits[-1].span.end == edit.span.start:
            last = edits.pop()
            edit = TextEdit(Span(last.span.start, edit.span.end), last.text + edit.text)
        edits.append(edit)
    return tuple(edits)


def _edit(window: Window, difference: Difference) -> TextEdit:
    lines = window.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    top, bottom = difference.line, difference.line + len(difference.old)
    start, end = starts[top], starts[bottom] - 1
    old, new = "\n".join(difference.old), "\n".join(difference.new)
    if not difference.old:
        # New lines follow the end of the line above; on top, they go before what is there.
        start = end = max(0, starts[top] - 1)
        new = f"\n{new}" if top else f"{new}\n"
    elif not difference.new:
        start, end = (start, starts[bottom]) if bottom < len(lines) else (max(0, start - 1), end)
        old = window.text[start:end]
    head, tail = same_ends(old, new)
    text = new[head : len(new) - tail]
    span = window.span(start + head, end - tail)
    return TextEdit(span, text.replace("\n", window.line_end))
