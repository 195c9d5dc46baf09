r"""The lines around the cursor that a model may rewrite, and what stands above and below.

A model sees `\n` whatever the document's lines end with, and no end of the last line; offsets in
that text are turned into places of the document here.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes._documents.document import Document, content
from parley.nes.engine import Span, Spot

CHARACTERS_PER_TOKEN = 3
"""Code has a few more; so nothing is longer than it may be."""
_CONTEXT_CHARACTERS = 1000


class Window(Struct, frozen=True):
    """Some whole lines of a document."""

    first: int
    """The number of its first line."""
    text: str
    cursor: int
    """Where the cursor is, as an offset in the text."""
    before: str
    """Some whole lines above, with their ends."""
    after: str
    """Some whole lines below."""
    line_end: str
    """The line end of this document."""
    starts_file: bool
    """Whether there is nothing above `before`."""

    @property
    def marked(self) -> tuple[str, str]:
        """The text in two halves, at the cursor."""
        return self.text[: self.cursor], self.text[self.cursor :]

    @property
    def whole(self) -> str:
        """The text with what stands above and below."""
        return f"{self.before}{self.text}\n{self.after}"

    def spot(self, offset: int) -> Spot:
        """Return the place of an offset in the text."""
        head = self.text[:offset]
        return Spot(self.first + head.count("\n"), offset - head.rfind("\n") - 1)

    def span(self, start: int, end: int) -> Span:
        """Return what lies between two offsets."""
        return Span(self.spot(start), self.spot(end))


def window_around(
    document: Document, spot: Spot, *, lines: int = 21, tokens: int = 350
) -> Window | None:
    """Cut a window out of a document; None if even the cursor's line is too long for it."""
    spot = document.clamp(spot)
    first, last = _bounds(document, spot.line, lines // 2, tokens * CHARACTERS_PER_TOKEN)
    if first < 0:
        return None
    held = [content(line) for line in document.lines[first : last + 1]]
    before, is_start = _above(document, first)
    above = sum(len(line) + 1 for line in held[: spot.line - first])
    ending = document.lines[spot.line][len(content(document.lines[spot.line])) :]
    if not ending and len(document.lines) > 1:
        ending = document.lines[0][len(content(document.lines[0])) :]
    return Window(
        first=first,
        text="\n".join(held),
        cursor=above + spot.column,
        before=before,
        after=_below(document, last),
        line_end=ending or "\n",
        starts_file=is_start,
    )


def _bounds(document: Document, line: int, reach: int, room: int) -> tuple[int, int]:
    """Grow from a line, evenly in both directions, until there is no room; -1: there is none."""
    room -= len(document.lines[line])
    if room < 0:
        return -1, -1
    ends = [line, line]
    steps = [-1, 1]
    for _ in range(reach):
        for side in (0, 1):
            there = ends[side] + steps[side]
            if not steps[side] or not 0 <= there < len(document.lines):
                continue
            if len(document.lines[there]) > room:
                steps[side] = 0
                continue
            room -= len(document.lines[there])
            ends[side] = there
    return ends[0], ends[1]


def _above(document: Document, first: int) -> tuple[str, bool]:
    lines: list[str] = []
    room = _CONTEXT_CHARACTERS
    for line in range(first - 1, -1, -1):
        text = content(document.lines[line]) + "\n"
        room -= len(text)
        if room < 0:
            return "".join(reversed(lines)), False
        lines.append(text)
    return "".join(reversed(lines)), True


def _below(document: Document, last: int) -> str:
    lines: list[str] = []
    room = _CONTEXT_CHARACTERS
    for line in range(last + 1, len(document.lines)):
        text = content(document.lines[line])
        room -= len(text) + 1
        if room < 0:
            break
        lines.append(text)
    return "\n".join(lines)
