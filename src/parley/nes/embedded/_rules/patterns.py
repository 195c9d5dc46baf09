"""A part of a line that was rewritten around something: the same around other things.

From `Optional[str]` that became `str | None` follows what becomes of `Optional[int]`: what stands
in both texts is a hole, and the rest is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log1p

from msgspec import Struct

from parley.nes.embedded._context import (
    Candidate,
    EditContext,
    coverage_features,
    location_features,
)
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import Holes, LineEdit, separate
from parley.nes.embedded._tokens import alike, is_part, is_word, operations, tokens

_MOST_PATTERNS = 8
_MOST_PLACES = 120
_MOST_TOKENS = 60
_MOST_HOLES = 4
_MOST_EDITS = 16
_MOST_CHARACTERS = 300


class Pattern(Struct, frozen=True):
    """A text with holes, and what becomes of it."""

    search: tuple[str, ...]
    """The fixed parts; there is a hole between each two of them."""
    replace: tuple[str | int, ...]
    """Texts, and numbers of holes."""
    key: str
    """The longest word that is fixed."""
    fixed: int
    holes: int
    is_word_first: bool
    """Whether it begins with a word, of which no more may stand before it."""
    is_word_last: bool

    def apply(self, line: str) -> str:
        """Return what becomes of a line."""
        out: list[str] = []
        done, start = 0, line.find(self.search[0])
        holes = Holes(self.search, line, partial(self._is_end, line))
        while start >= 0:
            is_cut = self.is_word_first and start > 0 and is_part(line[start - 1])
            found = None if is_cut else holes.at(start)
            if found is not None:
                out.append(line[done:start])
                out += [x if isinstance(x, str) else line[slice(*found[x])] for x in self.replace]
                done = found[-1][1] + len(self.search[-1])
            start = line.find(self.search[0], max(done, start + 1))
        return "".join(out) + line[done:]

    def _is_end(self, line: str, end: int) -> bool:
        return not (self.is_word_last and end < len(line) and is_part(line[end]))


def patterns(context: EditContext) -> Iterator[Candidate]:
    """Yield places where a rewritten part of a line stands with something else in it."""
    found: dict[Pattern, list[LineEdit]] = {}
    edits = context.edits[:_MOST_EDITS]
    for edit in edits:
        pattern = _pattern(edit)
        if pattern is not None and pattern not in found and len(found) < _MOST_PATTERNS:
            found[pattern] = [x for x in edits if _explains(pattern, x)]
    for pattern, examples in found.items():
        if context.is_late():
            return
        if not examples:
            continue
        yield from _at(context, pattern, examples, context.file)
        if 0 < context.project.count(pattern.key) < 40:
            for file in context.elsewhere(pattern.key, 8):
                yield from _at(context, pattern, examples, file)


def _explains(pattern: Pattern, edit: LineEdit) -> bool:
    return len(edit.old) <= _MOST_CHARACTERS and pattern.apply(edit.old) == edit.new


def _pattern(edit: LineEdit) -> Pattern | None:
    """Return what one example says: tokens between those that changed are holes."""
    one, other = tokens(edit.old), tokens(edit.new)
    ops = operations(one, other)
    if len(ops) < 2 or ops[-1].i2 - ops[0].i1 > _MOST_TOKENS:
        return None
    search, replace, holes, fixed = [""], list[str | int](), 0, list[str]()
    for i, op in enumerate(ops):
        gone, come = one[op.i1 : op.i2], other[op.j1 : op.j2]
        search[-1] += "".join(gone)
        replace.append("".join(come))
        fixed += [x for x in gone if is_word(x)]
        if i + 1 == len(ops):
            break
        kept = one[op.i2 : ops[i + 1].i1]
        if any(is_word(x) or x.isalnum() for x in kept):
            search.append("")
            replace.append(holes)
            holes += 1
        else:
            search[-1] += "".join(kept)
            replace.append("".join(kept))
    is_open = not ops[0].i1 < ops[0].i2 or not ops[-1].i1 < ops[-1].i2
    if not 0 < holes <= _MOST_HOLES or not fixed or is_open:
        return None
    return Pattern(
        tuple(search),
        tuple(replace),
        max(fixed, key=len),
        len(fixed),
        holes,
        is_word_first=is_word(one[ops[0].i1]),
        is_word_last=is_word(one[ops[-1].i2 - 1]),
    )


def _at(
    context: EditContext, pattern: Pattern, examples: list[LineEdit], file: SourceFile
) -> Iterator[Candidate]:
    lines = file.lines_with(pattern.key, _MOST_PLACES)
    if len(lines) >= _MOST_PLACES:
        return
    matches: list[tuple[int, str]] = []
    for line in lines:
        is_long = len(file.lines[line]) > _MOST_CHARACTERS
        if not is_long and not context.is_edited(file.uri, line, line + 1):
            result = pattern.apply(file.lines[line])
            if result != file.lines[line]:
                matches.append((line, result))
    run: list[tuple[int, str]] = []
    for match in [*matches, (-1, "")]:
        if run and match[0] != run[-1][0] + 1:
            yield _candidate(context, pattern, examples, (file, run, matches))
            run = []
        run.append(match)


def _candidate(
    context: EditContext,
    pattern: Pattern,
    examples: list[LineEdit],
    where: tuple[SourceFile, list[tuple[int, str]], list[tuple[int, str]]],
) -> Candidate:
    file, run, matches = where
    start, end = run[0][0], run[-1][0] + 1
    latest = max((hunk.start for hunk in context.touched.get(file.uri, ())), default=-1)
    passed = sum(line < latest for line, _ in matches)
    features = location_features(context, file, start, end)
    features |= coverage_features(context, (x.hunk for x in examples)) | {
        "support2": float(len(examples) > 1),
        "support3": float(len(examples) > 2),
        "hunks2": float(separate(examples) > 1),
        "hunks3": float(separate(examples) > 2),
        "alike": max(alike(x.old, file.lines[start]) for x in examples),
        "fixed": log1p(pattern.fixed),
        "holes": log1p(pattern.holes),
        "places": log1p(len(matches)),
        "passed": log1p(passed),
        "rate": len(examples) / (len(examples) + passed),
        "run": float(len(run) > 1),
        "age": log1p(context.hunks[0].turn - max(x.hunk.turn for x in examples)),
        "calm": max(alike(x.old, x.new) for x in examples),
    }  # fmt: skip
    return Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=[text for _, text in run],
        rule="pattern",
        cause="\0".join(pattern.search),
        features=features,
    )
