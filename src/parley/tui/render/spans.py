"""Stretches of painted lines: what was found, and what the mouse has selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

__all__ = ["chosen", "highlighted", "matches", "text_between"]

Span: TypeAlias = tuple[int, int]
"""From one character of a line to before another."""


def matches(text: str, words: str) -> list[Span]:
    """Return where words are, whether large or small letters; the words are casefolded."""
    text = text.casefold()
    found: list[Span] = []
    start = text.find(words)
    while start >= 0:
        found.append((start, start + len(words)))
        start = text.find(words, start + len(words))
    return found


def chosen(selection: Selection, number: int) -> Span | None:
    """Return what is selected of a line."""
    span = selection.get_span(number)
    if span is None:
        return None
    start, end = span
    return (start, 1 << 30) if end == -1 else (start, end)


def highlighted(strip: Strip, spans: Sequence[Span], style: Style) -> Strip:
    """Return a line with some stretches in a style."""
    if not spans:
        return strip
    segments: list[Segment] = []
    offset = 0
    for text, old, _ in strip:
        cuts = {0, len(text)}
        for start, end in spans:
            cuts |= {min(max(each - offset, 0), len(text)) for each in (start, end)}
        edges = sorted(cuts)
        for low, high in pairwise(edges):
            is_in = any(start <= low + offset < end for start, end in spans)
            segments.append(
                Segment(text[low:high], (old + style if old else style) if is_in else old)
            )
        offset += len(text)
    return Strip(segments, strip.cell_length)


def text_between(lines: Iterable[tuple[int, Strip]], selection: Selection, gutter: int) -> str:
    """Return what is selected of some lines, without what stands at the left of them."""
    texts: list[str] = []
    for number, strip in lines:
        span = chosen(selection, number)
        if span is not None:
            start, end = span
            texts.append(strip.text[max(start, gutter) : end].rstrip())
    return "\n".join(texts)
