"""What the user has changed in a document lately, as hunks that follow later typing.

A hunk keeps the lines that stood there before and knows where the new ones are now. Touching and
overlapping changes are one hunk, and one that is taken back is gone: what counts is what differs,
not by which keystrokes it came about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from parley.nes.documents.document import Document
from parley.nes.documents.ends import same_ends
from parley.nes.documents.past import Past
from parley.nes.engine import Change

__all__ = ["Hunk", "Sweep"]

_MOST_MARKS = 1_000
"""More than states are remembered, so that there is a mark of each."""


class Hunk(Struct):
    """Some lines that became others."""

    uri: str
    old: list[str]
    new: list[str]
    start: int
    """Where the new lines begin now; -1 if nobody knows."""
    turn: int
    """When it was last touched: later ones are higher."""
    above: str = ""
    """The line above it, and the one below."""
    below: str = ""
    parts: int = 1
    """How many edits it is made of, each at a line of its own."""

    @property
    def end(self) -> int:
        """Where the new lines end now."""
        return self.start + len(self.new)


class Sweep:
    """The hunks of one document."""

    def __init__(self, document: Document) -> None:
        self._uri = document.uri
        self._past = Past(document)
        self.hunks: list[Hunk] = []
        """By place. All of them: what was edited is not touched, however long ago it was."""
        self._at = range(0)
        self._mark = _mark(self.lines)
        self._marks = {self._mark: None}
        """Sums of the lines of each state: what has none of them never was."""

    def change(self, changes: Sequence[Change], turn: int) -> None:
        """Take in what was changed."""
        for change in changes:
            first, old, new = self._past.edit(change)
            self._mark += _mark(new) - _mark(old)
            self._merge(first, old, new, turn)
        self._past.note()
        self._marks.pop(self._mark, None)
        self._marks[self._mark] = None
        if len(self._marks) > _MOST_MARKS:
            del self._marks[next(iter(self._marks))]

    def look_around(self, hunk: Hunk) -> None:
        """Note what stands around one of the hunks now."""
        lines = self.lines
        hunk.above = lines[hunk.start - 1] if hunk.start else ""
        hunk.below = lines[hunk.end] if hunk.end < len(lines) else ""

    @property
    def lines(self) -> list[str]:
        """The lines as they are now, without their ends."""
        return self._past.lines

    @property
    def is_undoing(self) -> bool:
        """Whether the text is one that it was before: something was taken back."""
        return self._past.is_undoing

    def was(self, start: int, end: int, lines: list[str]) -> bool:
        """Return whether the text was before what it is with other lines at `start:end`."""
        mark = self._mark + _mark(lines) - _mark(self.lines[start:end])
        return mark in self._marks and self._past.was(start, end, lines)

    def _merge(self, first: int, old: list[str], new: list[str], turn: int) -> None:
        head, tail = same_ends(old, new)
        old, new = old[head : len(old) - tail], new[head : len(new) - tail]
        first += head
        if not old and not new:
            return
        end, grown = first + len(old), len(new) - len(old)
        above = bisect_left(self.hunks, first, key=lambda hunk: hunk.end)
        below = bisect_right(self.hunks, end, key=lambda hunk: hunk.start)
        touched = self.hunks[above:below]
        for hunk in self.hunks[below:] if grown else ():
            hunk.start += grown
        start = min([first, *(hunk.start for hunk in touched)])
        stop = max([end, *(hunk.end for hunk in touched)])
        now = self.lines[start : stop + grown]
        before = now[: first - start] + old + now[first - start + len(new) :]
        base: list[str] = []
        at = start
        for hunk in touched:
            base += before[at - start : hunk.start - start] + hunk.old
            at = hunk.end
        base += before[at - start :]
        is_next = first not in self._at
        self._at = range(first, first + max(1, len(new)))
        parts = sum(hunk.parts for hunk in touched)
        fresh = _trimmed(Hunk(self._uri, base, now, start, turn))
        fresh.parts = max(1, parts + is_next)
        self.hunks[above:below] = [fresh] if fresh.old or fresh.new else []


def _mark(lines: list[str]) -> int:
    """Return a number that is the same for the same lines, in whatever order."""
    return sum(map(hash, lines))


def _trimmed(hunk: Hunk) -> Hunk:
    """Leave out what is the same at the beginning and at the end."""
    old, new = hunk.old, hunk.new
    head, tail = same_ends(old, new)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    return Hunk(hunk.uri, old, new, hunk.start + head, hunk.turn)
