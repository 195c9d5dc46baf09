"""Templates from two examples: what they share is fixed, and what differs is a hole.

A hole of the old lines must come back in the new ones, so that a third line says what goes there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from msgspec import Struct

from .tokens import is_word, tokens

__all__ = ["Holes", "Template", "generalize"]

_MOST_HOLES = 5
_MOST_COMPARED = 40_000
_LONGEST = 2_000
_PART = re.compile(r"[^()\[\]{}]|\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\]|\{[^{}]*\}")
"""What a hole is made of: brackets in it are closed in it."""


class Holes:
    """Looks in a text for fixed parts with holes between them.

    A hole has at least one character and ends as soon as the rest fits. A place from which the rest
    does not fit is tried once, so a long text takes no longer than its length says.
    """

    def __init__(self, fixed: Sequence[str], text: str, is_end: Callable[[int], bool]) -> None:
        self._fixed = fixed
        self._text = text
        self._is_end = is_end
        self._tried: set[tuple[int, int]] = set()

    def at(self, start: int) -> list[tuple[int, int]] | None:
        """Return where the holes are if the first part stands at a place; None if it does not."""
        if not self._text.startswith(self._fixed[0], start):
            return None
        return self._rest(1, start + len(self._fixed[0]))

    def _rest(self, number: int, start: int) -> list[tuple[int, int]] | None:
        if number == len(self._fixed):
            return [] if self._is_end(start) else None
        for end in self._ends(number, start):
            if self._text.startswith(self._fixed[number], end):
                found = self._rest(number + 1, end + len(self._fixed[number]))
                if found is not None:
                    return [(start, end), *found]
        return None

    def _ends(self, number: int, start: int) -> Iterator[int]:
        """Yield where a hole may end, and was not seen to end in vain."""
        part = _PART.match(self._text, start)
        while part is not None and (number, part.end()) not in self._tried:
            self._tried.add((number, part.end()))
            yield part.end()
            part = _PART.match(self._text, part.end())


class Template(Struct, frozen=True):
    """A line with holes, and what becomes of it."""

    parts: tuple[str, ...]
    """What is fixed; there is a hole between each two of them."""
    result: tuple[str | int, ...]
    """Texts, and numbers of holes."""
    key: str
    """The longest word that is fixed."""
    fixed: int
    """How many words are fixed."""
    holes: int

    def apply(self, line: str) -> str | None:
        """Return what becomes of a line; None if it is not like the examples."""
        if not line.endswith(self.parts[-1]) or not line.startswith(self.parts[0]):
            return None
        return _applied(self.parts, self.result, line) if len(line) <= _LONGEST else None


@lru_cache(maxsize=4_000)
def _applied(parts: tuple[str, ...], result: tuple[str | int, ...], line: str) -> str | None:
    holes = Holes(parts, line, len(line).__eq__).at(0)
    if holes is None:
        return None
    return "".join(x if isinstance(x, str) else line[slice(*holes[x])] for x in result)


@lru_cache(maxsize=500)
def generalize(one: tuple[str, str], other: tuple[str, str]) -> Template | None:
    """Return a template of which two edited lines, old and new, are examples."""
    old = _aligned(one[0], other[0])
    new = _aligned(one[1], other[1])
    if old is None or new is None:
        return None
    holes = [x for x in old if isinstance(x, tuple)]
    fixed = [x for x in old if isinstance(x, str)]
    named = [token for text in fixed for token in tokens(text) if is_word(token)]
    if not 0 < len(holes) <= _MOST_HOLES or not named:
        return None
    result: list[str | int] = []
    for part in new:
        if isinstance(part, str):
            result.append(part)
        elif part in holes:
            result.append(holes.index(part))
        else:
            return None
    parts = [""]
    for part in old:
        if isinstance(part, str):
            parts[-1] += part
        else:
            parts.append("")
    return Template(tuple(parts), tuple(result), max(named, key=len), len(named), len(holes))


def _aligned(one: str, other: str) -> list[str | tuple[str, str]] | None:
    """Return what two texts share, and pairs where they differ; None if one is empty there."""
    a, b = tokens(one), tokens(other)
    if len(a) * len(b) > _MOST_COMPARED:
        return None
    out: list[str | tuple[str, str]] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            out.append("".join(a[i1:i2]))
        elif kind == "replace":
            out.append(("".join(a[i1:i2]), "".join(b[j1:j2])))
        else:
            return None
    return out
