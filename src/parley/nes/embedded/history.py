"""What a client tells with a question: hunks, for those that send no events, and snippets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge

from parley.nes.documents.patches import read_patch
from parley.nes.engine import HistoryEntry, Snippet

from .page import Page
from .sweep import Hunk

__all__ = ["hints_of", "hunks_of"]

_MOST_ENTRIES = 20
_MOST_CHARACTERS = 100_000
_MOST_HUNKS = 200


def hunks_of(history: Sequence[HistoryEntry], pages: Mapping[str, Page]) -> list[Hunk]:
    """Read the newest edits of a history, the oldest first, and find them in the pages."""
    found: list[tuple[Hunk, int]] = []
    for turn, entry in _newest(history):
        for patch in read_patch(entry.diff):
            guess = patch.new_line if patch.new_line is not None else 0
            found += [(hunk, guess) for hunk in _parts(entry.uri, patch.lines, turn)]
    found = found[-_MOST_HUNKS:]
    for uri in {hunk.uri for hunk, _ in found} & pages.keys():
        lines = pages[uri].lines
        places = _places(lines)
        for hunk, guess in found:
            if hunk.uri == uri:
                _locate(hunk, lines, places, guess)
    return [hunk for hunk, _ in found]


def hints_of(snippets: Iterable[Snippet]) -> list[Page]:
    """Return parts of other files as pages, unless they are long."""
    out: list[Page] = []
    room = _MOST_CHARACTERS
    for each in snippets:
        room -= len(each.text)
        if room < 0:
            break
        out.append(Page(each.uri, each.text.splitlines()))
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
