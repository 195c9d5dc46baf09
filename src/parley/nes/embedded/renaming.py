"""A name renamed at all its places at once, and not where others have the same name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .candidate import Candidate
from .page import Page

__all__ = ["everywhere", "is_alone", "renamed"]

_MOST_PLACES = 2_000


def renamed(line: str, columns: Iterable[int], names: tuple[str, str]) -> str:
    """Rename a name at places of a line; columns are bytes."""
    data = line.encode()
    old, new = (name.encode() for name in names)
    for column in sorted(columns, reverse=True):
        if data[column : column + len(old)] == old:
            data = data[:column] + new + data[column + len(old) :]
    return data.decode()


def everywhere(candidate: Candidate, page: Page) -> Candidate | None:
    """Return what renames at all places what a candidate renames at some; None if it is no part."""
    if candidate.names is None or not 1 < len(candidate.places) <= _MOST_PLACES:
        return None
    columns: dict[int, list[int]] = {}
    for line, column in candidate.places:
        columns.setdefault(line, []).append(column)
    start, end = min(columns), max(columns) + 1
    if (start, end) == (candidate.start, candidate.end):
        return None
    return Candidate(
        uri=candidate.uri,
        start=start,
        end=end,
        lines=[
            renamed(page.lines[line], columns.get(line, ()), candidate.names)
            for line in range(start, end)
        ],
        rule=candidate.rule,
        cause=candidate.cause,
        score=candidate.score,
        names=candidate.names,
        places=candidate.places,
    )


def is_alone(name: str, places: Sequence[tuple[int, int]], page: Page) -> bool:
    """Return whether a name stands at some places of a page, and nowhere else."""
    return len(page.places(name, len(places) + 1)) == len(set(places))
