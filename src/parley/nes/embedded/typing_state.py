"""Whether a word is being typed: what would spread half of it waits.

Where a word was taken away and the cursor still is, another one is about to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parley.nes.engine import Change, Spot

from .candidate import Candidate
from .page import Page
from .tokens import is_part, word_at, words

__all__ = ["Typing", "is_half_done"]

_SETTLED_AFTER = 0.7


class Typing:
    """Knows the last keystroke."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._uri = ""
        self._change: Change | None = None
        self._at = 0.0

    def changed(self, uri: str, change: Change) -> None:
        """Note a change."""
        self._uri, self._change, self._at = uri, change, self._clock()

    def is_gap(self, uri: str, lines: Sequence[str], spot: Spot) -> bool:
        """Return whether the cursor is where a whole word was taken away last."""
        change = self._change
        if change is None or uri != self._uri or change.new or spot != change.span.start:
            return False
        if not change.old or not all(map(is_part, change.old)) or spot.line >= len(lines):
            return False
        start, end = word_at(lines[spot.line], spot.column)
        return start == end

    def half_word(self, page: Page, spot: Spot) -> str:
        """Return the word at the cursor if it is being typed."""
        if not self._is_typing(page.uri) or not 0 <= spot.line < len(page.lines):
            return ""
        line = page.lines[spot.line]
        start, end = word_at(line, spot.column)
        return line[start:end]

    def _is_typing(self, uri: str) -> bool:
        """Return whether the last change was one key, and a moment ago."""
        change = self._change
        if change is None or uri != self._uri or len(change.new) > 1 or len(change.old) > 1:
            return False
        key = change.new or change.old
        return is_part(key) and self._clock() - self._at < _SETTLED_AFTER


def is_half_done(word: str, now: tuple[Page, Spot], candidate: Candidate, old: str) -> bool:
    """Return whether a candidate is in the half word at the cursor, or would spread it."""
    page, spot = now
    if candidate.uri == page.uri and candidate.start <= spot.line < candidate.end:
        return True
    if not candidate.is_sure:
        return True
    new = "\n".join(candidate.lines)
    if word in new and word in words(new) and word not in words(old):
        return True
    return word in candidate.cause and word in words(candidate.cause)
