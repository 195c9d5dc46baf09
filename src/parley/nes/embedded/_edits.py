"""The recent edits of a document, as hunks that follow later typing.

A hunk keeps the lines that stood there before and knows where the new ones are now. Touching and
overlapping changes are one hunk, and one that is taken back is gone: what counts is what differs,
not by which keystrokes it came about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge

from msgspec import Struct

from parley.nes._documents.document import Document
from parley.nes._documents.ends import same_ends
from parley.nes._documents.past import Past
from parley.nes._documents.patches import read_patch
from parley.nes.engine import Change, HistoryEntry, Snippet

from ._source import SourceFile

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
    """The number of edits that it is made of, each at a line of its own."""

    @property
    def end(self) -> int:
        """Where the new lines end now."""
        return self.start + len(self.new)


class EditTracker:
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


_MOST_ENTRIES = 20
_MOST_CHARACTERS = 100_000
_MOST_HUNKS = 200


def hunks_of(history: Sequence[HistoryEntry], files: Mapping[str, SourceFile]) -> list[Hunk]:
    """Read the newest edits of a history, the oldest first, and find them in the files."""
    found: list[tuple[Hunk, int]] = []
    for turn, entry in _newest(history):
        for patch in read_patch(entry.diff):
            guess = patch.new_line if patch.new_line is not None else 0
            found += [(hunk, guess) for hunk in _parts(entry.uri, patch.lines, turn)]
    found = found[-_MOST_HUNKS:]
    for uri in {hunk.uri for hunk, _ in found} & files.keys():
        lines = files[uri].lines
        places = _places(lines)
        for hunk, guess in found:
            if hunk.uri == uri:
                _locate(hunk, lines, places, guess)
    return [hunk for hunk, _ in found]


def hints_of(snippets: Iterable[Snippet]) -> list[SourceFile]:
    """Return parts of other files as source files, unless they are long."""
    out: list[SourceFile] = []
    room = _MOST_CHARACTERS
    for each in snippets:
        room -= len(each.text)
        if room < 0:
            break
        out.append(SourceFile(each.uri, each.text.splitlines()))
    return out


def _newest(history: Sequence[HistoryEntry]) -> list[tuple[int, HistoryEntry]]:
    """Return the entries that are read, each with its turn: the newest, unless they are long."""
    out: list[tuple[int, HistoryEntry]] = []
    room = _MOST_CHARACTERS
    for turn, entry in reversed([*enumerate(history[-_MOST_ENTRIES:], 1)]):
        room -= len(entry.diff)
        if room < 0:
            break
        out.insert(0, (turn, entry))
    return out


def _parts(uri: str, lines: Sequence[tuple[str, str]], turn: int) -> Iterator[Hunk]:
    """Split a piece of a diff where lines are kept."""
    old: list[str] = []
    new: list[str] = []
    above = ""
    for mark, text in [*lines, (" ", "")]:
        if mark == "-":
            old.append(text)
        elif mark == "+":
            new.append(text)
        else:
            if old or new:
                yield Hunk(uri, old, new, -1, turn, above, text)
                old, new = [], []
            above = text


def _places(lines: Sequence[str]) -> dict[str, list[int]]:
    """Return where each line stands."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line, []).append(at)
    return places


def _locate(hunk: Hunk, lines: list[str], places: Mapping[str, Sequence[int]], guess: int) -> None:
    """Find where a hunk's new lines are now, the nearest to where the diff says."""
    known = [places.get(line, ()) for line in hunk.new]
    rare = min(range(len(known)), key=lambda i: len(known[i]), default=-1)
    found = known[rare] if known else places.get(hunk.above, ())
    size = len(hunk.new)
    for at in _nearest(found, guess + rare):
        start = at - rare
        if start >= 0 and lines[start : start + size] == hunk.new:
            hunk.start = start
            return


def _nearest(places: Sequence[int], guess: int) -> Iterable[int]:
    """Go through places in order, from the nearest one on."""
    at = bisect_left(places, guess)
    return merge(reversed(places[:at]), places[at:], key=lambda place: abs(place - guess))
