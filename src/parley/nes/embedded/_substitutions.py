"""Lines that became others in hunks, and the substitutions in them.

`transfer` is the heart of it. It reads an example as an analogy: the old line became the new one,
so what does a line like the old one become? Where the two old lines differ, and where the example
changed, must not overlap; words that differ are carried over into what was inserted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from ._edits import Hunk
from ._tokens import Op, alike, is_word, operations, tokens

_PAIRED = 0.3
_CLOSE = 3
_MOST_PAIRS = 40_000
"""Of a hunk with more pairs of old and new lines nothing is learned: it is another text."""


class LineEdit(NamedTuple):
    """A line that became another one."""

    old: str
    new: str
    hunk: Hunk
    line: int
    """Where the new line is now; -1 if nobody knows."""


class Use(NamedTuple):
    """Where a substitution was seen: in which line, and the tokens around it."""

    edit: LineEdit
    left: tuple[str, ...]
    right: tuple[str, ...]
    rest: int = 0
    """The number of other substitutions in that line."""


class Substitution(Struct):
    """Some tokens that became others."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    uses: list[Use]
    is_fresh: bool | None = None
    """Whether a name became one that was not there before; None until somebody looks."""

    @property
    def old(self) -> str:
        """The old text."""
        return "".join(self.before)

    @property
    def new(self) -> str:
        """The new text."""
        return "".join(self.after)

    @property
    def is_name(self) -> bool:
        """Return whether a name became another one."""
        return (
            len(self.before) == len(self.after) == 1
            and is_word(self.before[0])
            and is_word(self.after[0])
        )


def line_edits(hunk: Hunk, is_late: Callable[[], bool] = lambda: False) -> list[LineEdit]:
    """Pair the old lines of a hunk with those that they became, as far as there is time."""
    if len(hunk.old) == len(hunk.new):
        couples: Iterable[tuple[int, int]] = zip(
            range(len(hunk.old)), range(len(hunk.new)), strict=True
        )
    else:
        couples = _paired(hunk.old, hunk.new, is_late)
    out: list[LineEdit] = []
    for i, j in couples:
        if is_late():
            break
        old, new = hunk.old[i], hunk.new[j]
        if old != new and old.strip() and alike(old, new) >= _PAIRED:
            out.append(LineEdit(old, new, hunk, hunk.start + j if hunk.start >= 0 else -1))
    return out


def _paired(
    old: Sequence[str], new: Sequence[str], is_late: Callable[[], bool]
) -> list[tuple[int, int]]:
    """Pair lines in order, the most alike ones first."""
    if len(old) * len(new) > _MOST_PAIRS:
        return []
    found: list[tuple[float, int, int]] = []
    for i, a in enumerate(old):
        if is_late():
            return []
        if a.strip():
            found += [(score, i, j) for j, b in enumerate(new) if (score := alike(a, b)) >= _PAIRED]
    out: list[tuple[int, int]] = []
    for _, i, j in sorted(found, key=lambda x: (-x[0], x[1], x[2])):
        if is_late():
            break
        if all((i < a and j < b) or (i > a and j > b) for a, b in out):
            out.append((i, j))
    return sorted(out)


def separate(edits: Iterable[LineEdit]) -> int:
    """Count the edits that were made by themselves, not together with others."""
    counts: dict[int, list[LineEdit]] = {}
    for edit in edits:
        counts.setdefault(id(edit.hunk), []).append(edit)
    return sum(min(len(found), found[0].hunk.parts) for found in counts.values())


def substitutions(
    edits: Iterable[LineEdit], is_late: Callable[[], bool] = lambda: False
) -> list[Substitution]:
    """Return the substitutions in some edited lines, each with all its uses.

    Those that are close together are also one substitution.
    """
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Substitution] = {}
    for edit in edits:
        if is_late():
            break
        one, other = tokens(edit.old), tokens(edit.new)
        ops = [x for x in operations(one, other) if _says(one, other, x)]
        for size, op in _joined(ops):
            before, after = one[op.i1 : op.i2], other[op.j1 : op.j2]
            use = Use(edit, one[: op.i1], one[op.i2 :], len(ops) - size)
            found.setdefault((before, after), Substitution(before, after, [])).uses.append(use)
    return list(found.values())


def _says(one: Sequence[str], other: Sequence[str], op: Op) -> bool:
    """Return whether more than blanks are changed."""
    return bool("".join([*one[op.i1 : op.i2], *other[op.j1 : op.j2]]).strip())


def _joined(ops: list[Op]) -> Iterator[tuple[int, Op]]:
    """Yield runs of substitutions that are close together, then all by themselves."""
    run: list[Op] = []
    for op in [*ops, None]:
        if run and (op is None or op.i1 - run[-1].i2 > _CLOSE):
            if len(run) > 1:
                yield len(run), Op(run[0].i1, run[-1].i2, run[0].j1, run[-1].j2)
            run = []
        if op is not None:
            run.append(op)
    for op in ops:
        yield 1, op


@lru_cache(maxsize=4_000)
def transfer(old: str, new: str, other: str) -> str | None:
    """Change another text as the old one became the new one; None if that is not possible."""
    a, b, t = tokens(old), tokens(new), tokens(other)
    edits, holes = operations(a, b), operations(a, t)
    words: dict[str, str] = {}
    for hole in holes:
        if any(_clash(edit, hole) for edit in edits):
            return None
        if hole.i2 - hole.i1 == hole.j2 - hole.j1:
            for x, y in zip(a[hole.i1 : hole.i2], t[hole.j1 : hole.j2], strict=True):
                if is_word(x) and words.setdefault(x, y) != y:
                    return None
    out: list[str] = []
    at = 0
    for op, is_edit in sorted([(e, True) for e in edits] + [(h, False) for h in holes]):
        out += a[at : op.i1]
        if is_edit:
            out += [words.get(token, token) for token in b[op.j1 : op.j2]]
        else:
            out += t[op.j1 : op.j2]
        at = op.i2
    out += a[at:]
    return "".join(out)


def _clash(edit: Op, hole: Op) -> bool:
    if edit.i1 == edit.i2 or hole.i1 == hole.i2:
        inside = edit.i1 <= hole.i1 and hole.i2 <= edit.i2
        return inside or (hole.i1 < edit.i1 and edit.i2 < hole.i2)
    return edit.i1 < hole.i2 and hole.i1 < edit.i2


_MOST_HOLES = 5
_MOST_COMPARED = 40_000
_LONGEST = 2_000
_PART = re.compile(r"[^()\[\]{}]|\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\]|\{[^{}]*\}")
"""A part of a hole; brackets in it are closed in it."""


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
    """The fixed parts; there is a hole between each two of them."""
    result: tuple[str | int, ...]
    """Texts, and numbers of holes."""
    key: str
    """The longest word that is fixed."""
    fixed: int
    """The number of fixed words."""
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
