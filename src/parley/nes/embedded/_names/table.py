"""The names of a whole file: what it binds and uses, its functions, calls and imports."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from parley.nes._syntax import is_parsed
from parley.nes.embedded._source import SourceFile

from .generic import walk_generic
from .javascript import walk_javascript
from .python import walk_python
from .scopes import (
    Budget,
    Call,
    Chunk,
    Found,
    Function,
    Import,
    OutOfTime,
    Place,
    Walker,
    chunk_of,
    unpacked,
)

_NOTHING: frozenset[str] = frozenset()
_MOST_STATEMENTS = 3_000
"""A file with more of them at its top level was written by a machine."""
Leaf = tuple[int, Chunk, frozenset[str]]


def _leaves(top: int, chunk: Chunk, hidden: frozenset[str] = frozenset()) -> Iterator[Leaf]:
    """Yield a chunk and its parts, where they are, and what is bound around them."""
    yield top, chunk, hidden
    for part in chunk.parts:
        taken = hidden | part.taken if part.taken else hidden
        yield from _leaves(top + part.line, part.chunk, taken)


class Places:
    """Names and where they stand; places are worked out when they are asked for."""

    def __init__(self, parts: Iterable[tuple[int, Found, frozenset[str]]]) -> None:
        self._parts: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        known = self._parts
        for top, found, hidden in parts:
            for name, places in found.items():
                if name in hidden:
                    continue
                if name in known:
                    known[name].append((top, places))
                else:
                    known[name] = [(top, places)]

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __getitem__(self, name: str) -> list[Place]:
        found = self._parts.get(name, ())
        return [unpacked(place, top) for top, places in found for place in places]


class Names:
    """The names of a file."""

    def __init__(self, chunks: list[tuple[int, Chunk]]) -> None:
        self.chunks = chunks
        """The top-level statements, and in which lines they begin."""
        self._calls: dict[str, list[Call]] = {}

    @cached_property
    def _tops(self) -> list[int]:
        return [top for top, _ in self.chunks]

    def statement(self, line: int) -> tuple[int, int | None, Chunk] | None:
        """Return the top-level statement of a line: where it and the next one begin, and it."""
        at = bisect_right(self._tops, line)
        if at == 0:
            return None
        following = self._tops[at] if at < len(self._tops) else None
        return self._tops[at - 1], following, self.chunks[at - 1][1]

    @cached_property
    def _leaves(self) -> list[Leaf]:
        return [leaf for top, chunk in self.chunks for leaf in _leaves(top, chunk)]

    @cached_property
    def bound(self) -> Places:
        """The names that the file itself binds, and where."""
        return Places((top, chunk.bound, _NOTHING) for top, chunk in self.chunks)

    @cached_property
    def used(self) -> Places:
        """The names that are used, and bound by the file or nowhere."""
        return Places((top, chunk.used, hidden) for top, chunk, hidden in self._leaves)

    @cached_property
    def members(self) -> Places:
        """Names after a dot."""
        return Places((top, chunk.members, _NOTHING) for top, chunk, _ in self._leaves)

    @cached_property
    def local(self) -> frozenset[str]:
        """Names that are bound within functions and classes."""
        return _NOTHING.union(*(chunk.local for _, chunk in self.chunks))

    @cached_property
    def imports(self) -> list[Import]:
        """All import statements."""
        return [
            Import(item.start + top, item.end + top, item.module, item.names, item.is_nested)
            for top, chunk, _ in self._leaves
            for item in chunk.imports
        ]

    @cached_property
    def functions(self) -> list[Function]:
        """All functions and methods."""
        return [
            Function(item.name, item.line + top, item.end + top, item.parameters, item.owner)
            for top, chunk, _ in self._leaves
            for item in chunk.functions
        ]

    def calls(self, name: str) -> list[Call]:
        """Return the calls of a function."""
        if name not in self._calls:
            self._calls[name] = [
                Call(unpacked(start, top), unpacked(end, top), arguments, is_method)
                for top, chunk, _ in self._leaves
                for _, start, end, arguments, is_method in chunk.calls.get(name, ())
            ]
        return self._calls[name]

    @property
    def is_open(self) -> bool:
        """Return whether it binds names that nobody can know."""
        return any(chunk.is_open for _, chunk in self.chunks)


def names_of(file: SourceFile, walkers: dict[str, Walker], budget: Budget) -> Names | None:
    """Return the names of a file, if its language is one of those that have a walker.

    Raises:
        OutOfTime: The budget is spent; ask again.
    """
    walk = walkers.get(file.language)
    tree = file.tree if walk else None
    if walk is None or tree is None or tree.root.child_count > _MOST_STATEMENTS:
        return None
    chunks: list[tuple[int, Chunk]] = []
    for node in tree.root.children:
        chunk = chunk_of(file.language, node, walk, budget)
        chunks.append((node.start_point[0], chunk))
    return Names(chunks)


_WALKERS: dict[str, Walker] = {
    "python": walk_python,
    "javascript": walk_javascript,
    "typescript": walk_javascript,
    "tsx": walk_javascript,
    **dict.fromkeys(("go", "rust", "java", "c", "cpp"), walk_generic),
}
_A_BYTE = 2e-7
"""The seconds that it takes to parse a byte and read it, about."""


class Limit(NamedTuple):
    """Until when files may be read."""

    clock: Callable[[], float]
    until: float

    def is_over(self) -> bool:
        """Return whether the time has come."""
        return self.clock() > self.until

    def is_enough_for(self, file: SourceFile) -> bool:
        """Return whether there is time to read a file that was never read."""
        return self.until - self.clock() > len(file.text) * _A_BYTE


def is_read(file: SourceFile) -> bool:
    """Return whether the names of a file are known, or that there are none."""
    return "names" in file.notes


def names(file: SourceFile | None, limit: Limit | None = None) -> Names | None:
    """Return the names of a file, which are read once; None if its language is not known.

    With a limit, None may also mean that the time is not enough. What was read by then is kept, so
    that there is less to do the next time.
    """
    if file is None:
        return None
    if not is_read(file):
        if limit and not is_parsed(file.uri, file.language) and not limit.is_enough_for(file):
            return None
        try:
            budget = Budget(limit.is_over) if limit else Budget()
            file.notes["names"] = names_of(file, _WALKERS, budget)
        except RecursionError:
            # Nobody writes code that deep; what a machine wrote needs no suggestions.
            file.notes["names"] = None
        except OutOfTime:
            return None
    found: Names | None = file.notes["names"]
    return found
