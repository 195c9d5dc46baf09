"""Which name means what: scopes of a file, by its syntax tree.

A file is read by its top-level statements, and these by the functions in them. What is found in
one is kept by its text, so a keystroke costs the function that it is in. Names that one does not
bind itself are left free; what is around it binds them, or the file as a whole, or nobody.

There are very many places, and each object would cost time whenever Python collects garbage: until
somebody asks for it a place is a number, and what holds them is not looked at by the collector.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

_MOST_KEPT = 30_000
_MOST_KEPT_BYTES = 32_000_000
_SMALL = 160
"""A function of fewer bytes is read with what is around it."""
_NOTHING: frozenset[str] = frozenset()


class OutOfTime(Exception):
    """There is no time to read on; what was read so far is kept, and found the next time."""


class Budget:
    """The time to read a file; one piece is read in any case, so that it ends."""

    def __init__(self, is_late: Callable[[], bool] = lambda: False) -> None:
        self._is_late = is_late
        self._done = 0

    def begin(self) -> None:
        """Begin one more piece.

        Raises:
            OutOfTime: It is late, and another piece is complete: what is begun around it is lost.
        """
        if self._done and self._is_late():
            raise OutOfTime

    def finish(self) -> None:
        """Note that a piece is complete, and kept."""
        self._done += 1


class Place(NamedTuple):
    """Where a name stands: a line, and a column in bytes."""

    line: int
    column: int


_BITS = 32


def packed(line: int, column: int) -> int:
    """Return a place as a number."""
    return line << _BITS | column


def unpacked(place: int, down: int = 0) -> Place:
    """Return the place of a number, some lines further down."""
    return Place((place >> _BITS) + down, place & (1 << _BITS) - 1)


class Import(Struct, gc=False):
    """A statement that imports; the lines are `start:end`."""

    start: int
    end: int
    module: str
    """Empty for `import a, b`."""
    names: tuple[tuple[str, str], ...]
    """Each imported name, and the name that it gets here."""
    is_nested: bool = False


class Function(Struct, gc=False):
    """The definition of a function."""

    name: str
    line: int
    end: int
    parameters: tuple[str, ...]
    """As they are written."""
    owner: str = ""
    """The class around it."""


class Call(Struct, gc=False):
    """A call of something by its last name."""

    start: Place
    end: Place
    """The parentheses and what is between them."""
    arguments: tuple[str, ...]
    is_method: bool = False


RawCall = tuple[str, int, int, tuple[str, ...], bool]
"""A name, the packed places of a call, its arguments, and whether it is of a method."""


class Scope:
    """The names that a function, a class or the file binds and uses, while it is read."""

    __slots__ = ("bound", "kind", "name", "outer", "parent", "used")

    def __init__(self, kind: str, parent: Scope | None = None, name: str = "") -> None:
        self.kind = kind
        self.parent = parent
        self.name = name
        """The name of a class."""
        self.bound: dict[str, list[int]] = {}
        self.used: dict[str, list[int]] = {}
        self.outer: set[str] = set()
        """Names that were declared to be somebody else's."""

    def bind(self, name: str, place: int) -> None:
        """Note that a name gets a meaning here."""
        if name in self.outer:
            self.use(name, place)
        else:
            self.bound.setdefault(name, []).append(place)

    def use(self, name: str, place: int) -> None:
        """Note that a name is used."""
        self.used.setdefault(name, []).append(place)


Found = dict[str, tuple[int, ...]]


class Chunk(Struct, gc=False):
    """The names in one statement or function; lines count from its first one."""

    bound: Found
    """The names that it binds for the file."""
    used: Found
    """The names that it uses and does not bind."""
    members: Found
    """Names after a dot."""
    imports: tuple[Import, ...]
    functions: tuple[Function, ...]
    calls: dict[str, tuple[RawCall, ...]]
    """By the names of what is called."""
    parts: tuple[Part, ...]
    free: tuple[str, ...]
    """Names that it and its parts use and do not bind."""
    local: tuple[str, ...]
    """Names that are bound within it, and are not known around it."""
    is_open: bool
    """It binds names that nobody can know, such as `from x import *`."""


class Part(Struct, gc=False):
    """A function in a chunk."""

    line: int
    chunk: Chunk
    taken: frozenset[str]
    """Names that it leaves free, and something around it in the chunk binds."""


class Reading:
    """The names in a statement or function while it is read."""

    def __init__(self) -> None:
        self.top = Scope("file")
        self.scopes: list[Scope] = []
        self.members: dict[str, list[int]] = {}
        self.imports: list[Import] = []
        self.functions: list[Function] = []
        self.calls: list[RawCall] = []
        self.parts: list[tuple[int, Chunk, Scope]] = []
        self.is_open = False

    def scope(self, kind: str, parent: Scope, name: str = "") -> Scope:
        """Begin a scope."""
        self.scopes.append(Scope(kind, parent, name))
        return self.scopes[-1]

    def settled(self) -> Chunk:
        """Join each use to the scope that binds the name; the rest is left to those around it."""
        local: set[str] = set()
        for scope in self.scopes:
            for name in list(scope.used):
                owner = _owner(scope, name)
                if owner is not scope:
                    places = scope.used.pop(name)
                    (owner or self.top).used.setdefault(name, []).extend(places)
            local.update(scope.bound)
        parts = tuple(Part(line, part, self._taken(part, at)) for line, part, at in self.parts)
        free = set(self.top.used)
        for part in parts:
            free.update(x for x in part.chunk.free if x not in part.taken)
            local.update(part.chunk.local)
        return Chunk(
            bound=_frozen(self.top.bound),
            used=_frozen(self.top.used),
            members=_frozen(self.members),
            imports=tuple(self.imports),
            functions=tuple(self.functions),
            calls=_by_name(self.calls),
            parts=parts,
            free=tuple(free),
            local=tuple(local),
            is_open=self.is_open or any(part.chunk.is_open for part in parts),
        )

    def _taken(self, part: Chunk, scope: Scope | None) -> frozenset[str]:
        """Return the names of a part that a scope around it binds."""
        while scope is not None and scope.kind == "class":
            scope = scope.parent
        if scope is None or scope is self.top:
            return _NOTHING
        owners = ((name, _owner(scope, name)) for name in part.free)
        return frozenset(name for name, owner in owners if owner not in (None, self.top))


def _frozen(found: dict[str, list[int]]) -> Found:
    return {name: tuple(places) for name, places in found.items()}


def _by_name(calls: list[RawCall]) -> dict[str, tuple[RawCall, ...]]:
    found: dict[str, list[RawCall]] = {}
    for call in calls:
        found.setdefault(call[0], []).append(call)
    return {name: tuple(same) for name, same in found.items()}


def _owner(scope: Scope, name: str) -> Scope | None:
    here: Scope | None = scope
    while here is not None:
        if name in here.bound and (here is scope or here.kind != "class"):
            return here
        here = here.parent
    return None


Walker = Callable[[Any, Reading, Budget], None]


class _Kept:
    """Chunks by the text of what they are found in, as many as there is room for."""

    def __init__(self) -> None:
        self._chunks: OrderedDict[tuple[str, int, bytes], Chunk] = OrderedDict()
        self._bytes = 0

    def get(self, kind: str, node: Any, walk: Callable[[Reading], None], budget: Budget) -> Chunk:
        key = (kind, node.start_point[1], node.text)
        chunk = self._chunks.get(key)
        if chunk is not None:
            self._chunks.move_to_end(key)
            return chunk
        budget.begin()
        reading = Reading()
        walk(reading)
        self._chunks[key] = chunk = reading.settled()
        self._bytes += len(key[2])
        budget.finish()
        while len(self._chunks) > _MOST_KEPT or self._bytes > _MOST_KEPT_BYTES:
            old, _ = self._chunks.popitem(last=False)
            self._bytes -= len(old[2])
        return chunk


_kept = _Kept()


def part_of(kind: str, node: Any, walk: Callable[[Reading], None], budget: Budget) -> Chunk | None:
    """Return what is found in a function, read once for its text; None for a small one.

    Args:
        kind: The language, and what else the result depends on.
        node: The function.
        walk: Reads it.
        budget: How long that may take.
    """
    return _kept.get(kind, node, walk, budget) if node.end_byte - node.start_byte > _SMALL else None


def chunk_of(language: str, node: Any, walk: Walker, budget: Budget) -> Chunk:
    """Return what is found in a top-level statement, read once for its text."""
    return _kept.get(language, node, partial(_walked, walk, node, budget), budget)


def _walked(walk: Walker, node: Any, budget: Budget, reading: Reading) -> None:
    walk(node, reading, budget)


class Walk:
    """Reads a piece of a tree; places are counted from the piece's first line."""

    def __init__(self, chunk: Reading, top: int, budget: Budget) -> None:
        self.chunk = chunk
        self.top = top
        self.budget = budget

    def place(self, node: Any) -> int:
        """Return where a node begins, as a number."""
        line, column = node.start_point
        return packed(line - self.top, column)

    def line(self, node: Any) -> int:
        """Return in which line a node begins."""
        return int(node.start_point[0]) - self.top


def text_of(node: Any) -> str:
    """Return the text of a node; nothing if there is none."""
    return node.text.decode("utf-8", "replace") if node is not None else ""
