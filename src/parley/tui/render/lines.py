"""Styled text cut into lines.

A run is text with one style; a row is a list of runs. Rows become lines of segments, broken at
blanks where that is possible, and lines become strips, which is what Textual paints. Text must be
inert before it comes here; tabs are written out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["Line", "Run", "chop", "clip", "fill", "indent", "plain_rows", "strips", "wrap"]

Run: TypeAlias = tuple[str, Style]
Line: TypeAlias = list[Segment]

_JOINER = "\u200d"
_Span: TypeAlias = tuple[int, int]

TAB_CELLS = 4
_MOST_PER_CELL = 50
"""The maximum number of characters for one cell: some have no width."""


def plain_rows(text: str, style: Style) -> list[list[Run]]:
    """Return the lines of a text as rows of one run."""
    return [[(line, style)] for line in text.expandtabs(TAB_CELLS).split("\n")]


def wrap(runs: Sequence[Run], width: int) -> list[Line]:
    """Break a row into lines at blanks; a word that is longer than a line is broken anywhere."""
    text = "".join([text for text, _ in runs])
    return _slices(runs, _breaks(text, max(width, 1), at_blanks=True))


def chop(runs: Sequence[Run], width: int) -> list[Line]:
    """Break a row into lines at the width, as for code."""
    text = "".join([text for text, _ in runs])
    return _slices(runs, _breaks(text, max(width, 1), at_blanks=False))


def clip(runs: Sequence[Run], width: int) -> Line:
    """Return one line, with an ellipsis if it does not fit."""
    text = "".join([text for text, _ in runs])
    most = max(width, 1) * _MOST_PER_CELL  # the rest cannot fit in any case
    if len(text) <= most and cell_len(text) <= width:
        return [Segment(text, style) for text, style in runs if text]
    first = _breaks(text[:most], max(width - 1, 1), at_blanks=False)[0]
    line = _slices(runs, [first])[0]
    return [*line, Segment("…", line[-1].style if line else None)]


def indent(lines: Iterable[Line], first: Run, rest: Run | None = None) -> list[Line]:
    """Prefix the first line with a mark, and the others with another one or with blanks."""
    rest = rest if rest is not None else (" " * cell_len(first[0]), first[1])
    marks = (Segment(*first), Segment(*rest))
    return [[marks[bool(number)], *line] for number, line in enumerate(lines)]


def fill(line: Line, width: int, ground: Style) -> Line:
    """Return a line on a background, filled up to the width."""
    missing = width - sum(segment.cell_length for segment in line)
    painted = [Segment(text, ground + style if style else ground) for text, style, _ in line]
    return [*painted, Segment(" " * missing, ground)] if missing > 0 else painted


def strips(lines: Iterable[Line]) -> list[Strip]:
    """Return lines as Textual strips."""
    return [Strip(line) for line in lines]


def _slices(runs: Sequence[Run], spans: Sequence[_Span]) -> list[Line]:
    """Split runs at ordered spans of their joined text."""
    if len(runs) == 1:
        text, style = runs[0]
        return [[Segment(text[start:end], style)] if start < end else [] for start, end in spans]
    lines: list[Line] = []
    number, offset = 0, 0  # the run that comes next, and where it begins
    for start, end in spans:
        line: Line = []
        while number < len(runs):
            text, style = runs[number]
            stop = offset + len(text)
            low, high = max(start, offset), min(end, stop)
            if low < high:
                line.append(Segment(text[low - offset : high - offset], style))
            if stop > end:
                break
            number, offset = number + 1, stop
        lines.append(line)
    return lines


def _breaks(text: str, width: int, *, at_blanks: bool) -> list[_Span]:
    """Return the spans of the text that make a line each; there is at least one."""
    if text.isascii():
        if len(text) <= width:
            return [(0, len(text))]
        return _narrow_breaks(text, width, at_blanks)
    return _wide_breaks(text, width, at_blanks)


def _narrow_breaks(text: str, width: int, at_blanks: bool) -> list[_Span]:
    spans: list[_Span] = []
    start, length = 0, len(text)
    while length - start > width:
        blank = text.rfind(" ", start, start + width + 1) if at_blanks else -1
        if blank > start and not text[start:blank].isspace():
            spans.append((start, blank))
            start = blank + 1
        else:
            spans.append((start, start + width))
            start += width
    spans.append((start, length))
    return spans


def _wide_breaks(text: str, width: int, at_blanks: bool) -> list[_Span]:
    spans: list[_Span] = []
    start, cells = 0, 0
    blank, cells_to_blank = -1, 0  # the last place to break at
    graphemes, _ = split_graphemes(text)
    for first, stop, counted in graphemes:
        # A joiner that joins nothing is counted one way alone and another way in a line.
        size = max(counted, cell_len(text[first:stop])) if _JOINER in text else counted
        if cells + size > width and first > start:
            if text[first] == " " and at_blanks:
                blank, cells_to_blank = first, cells
            if blank > start:
                spans.append((start, blank))
                start, cells = blank + 1, max(cells - cells_to_blank - 1, 0)
            if cells + size > width and first > start:
                spans.append((start, first))
                start, cells = first, 0
            blank = -1
            if start > first:  # the blank itself is not shown
                continue
        elif at_blanks and text[first] == " " and not text[start:first].isspace():
            blank, cells_to_blank = first, cells
        cells += size
    spans.append((start, len(text)))
    return spans
