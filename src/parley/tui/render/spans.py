"""Spans of painted lines: search results and the selection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

__all__ = ["find_matches", "highlight_spans", "selected_span", "selected_text"]

Span: TypeAlias = tuple[int, int]
"""The start and the end of a part of a line, in characters."""


def find_matches(text: str, words: str) -> list[Span]:
    """Return the spans that match casefolded words, ignoring case."""
    text = text.casefold()
    found: list[Span] = []
    start = text.find(words)
    while start >= 0:
        found.append((start, start + len(words)))
        start = text.find(words, start + len(words))
    return found


def selected_span(selection: Selection, number: int) -> Span | None:
    """Return the selected span of a line."""
    span = selection.get_span(number)
    if span is None:
        return None
    start, end = span
    return (start, 1 << 30) if end == -1 else (start, end)


def highlight_spans(strip: Strip, spans: Sequence[Span], style: Style) -> Strip:
    """Return a line with some spans in a style."""
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


def selected_text(lines: Iterable[tuple[int, Strip]], selection: Selection, gutter: int) -> str:
    """Return the selected text of lines, without the gutter."""
    texts: list[str] = []
    for number, strip in lines:
        span = selected_span(selection, number)
        if span is not None:
            start, end = span
            texts.append(strip.text[max(start, gutter) : end].rstrip())
    return "\n".join(texts)
