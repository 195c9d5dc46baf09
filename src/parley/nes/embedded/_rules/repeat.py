"""The same change again: what was done to one line, done to lines like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import (
    Candidate,
    EditContext,
    coverage_features,
    location_features,
)
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import Substitution, separate, transfer
from parley.nes.embedded._tokens import alike, is_word, tokens

from .shadowing import is_foreign

_MOST_SUBSTITUTIONS = 50
_MOST_PLACES = 120
_CONTEXT = 4
_MOST_FILES = 40
_MOST_IN_LINE = 60


class Match(NamedTuple):
    """A line in which a substitution applies, and what would become of it."""

    line: int
    result: str
    left: int
    right: int
    column: int


def repeat(context: EditContext) -> Iterator[Candidate]:
    """Yield the places where an edited line's change fits again."""
    substitutions = context.substitutions[:_MOST_SUBSTITUTIONS]
    for substitution in substitutions:
        if context.is_late():
            return
        yield from _at(context, substitution, context.file)
    for substitution in substitutions:
        if context.is_late():
            return
        word = _key(context, substitution)
        for file in context.elsewhere(word) if word else ():
            yield from _at(context, substitution, file)


def _key(context: EditContext, substitution: Substitution) -> str:
    """Return a word by which other files are found: one that was replaced, or the rarest beside."""
    word = max((token for token in substitution.before if is_word(token)), key=len, default="")
    if len(word) > 3:
        return word if context.project.count(word) < _MOST_FILES else ""
    beside = {*substitution.uses[0].left, *substitution.uses[0].right}
    counted = [(context.project.count(x), x) for x in beside if len(x) > 3 and is_word(x)]
    return min((x for x in counted if 0 < x[0] < _MOST_FILES), default=(0, ""))[1]


def _needle(substitution: Substitution) -> str:
    """Return what to look for: the replaced tokens, with context if they say little."""
    before = list(substitution.before)
    if any(is_word(token) for token in before):
        return "".join(before)
    left, right = list(substitution.uses[0].left), list(substitution.uses[0].right)
    while (left or right) and sum(is_word(x) for x in before) < 1 + (not substitution.before):
        if left:
            before.insert(0, left.pop())
        if right:
            before.append(right.pop(0))
    return "".join(before).strip()


def _at(context: EditContext, substitution: Substitution, file: SourceFile) -> Iterator[Candidate]:
    """Yield the places of a file where a substitution applies; neighbours are one candidate."""
    needle = _needle(substitution)
    lines = file.lines_with(needle, _MOST_PLACES)
    if not lines or len(lines) >= _MOST_PLACES:
        return
    matches: list[Match] = []
    skipped = 0
    last = max(
        (use.edit.line for use in substitution.uses if use.edit.hunk.uri == file.uri), default=-1
    )
    first = min(
        (use.edit.line for use in substitution.uses if use.edit.hunk.uri == file.uri), default=-1
    )
    latest = max((hunk.start for hunk in context.touched.get(file.uri, ())), default=-1)
    passed = 0
    for line in lines:
        if context.is_edited(file.uri, line, line + 1):
            continue
        match = _match(substitution, line, file.lines[line])
        if match and not (
            substitution.is_name and is_foreign(context, file, line, substitution.old)
        ):
            matches.append(match)
            skipped += first < line < last
            passed += line < latest
    for group in _neighbours(matches):
        if _is_worth(context, substitution, file, group):
            yield _candidate(context, substitution, file, group, (len(matches), skipped, passed))


def _is_worth(
    context: EditContext, substitution: Substitution, file: SourceFile, group: list[Match]
) -> bool:
    """Return whether a place is like an example in any way, or there are several examples."""
    own = context.file
    surrounding = max(match.left + match.right for match in group)
    if substitution.is_name and file.language and _is_fresh(context, substitution):
        return True
    if not file.language and len(substitution.uses) == 1:
        return surrounding >= 2 * _CONTEXT
    if len(substitution.uses) == 1 and surrounding < (2 if file is own else 4):
        return False
    return file is own or len(substitution.uses) > 1 or surrounding >= 2 * _CONTEXT - 1


def _is_fresh(context: EditContext, substitution: Substitution) -> bool:
    """Return whether a name became one that was not there before."""
    if substitution.is_fresh is None:
        substitution.is_fresh = (
            len(substitution.old) > 3
            and not context.project.count(substitution.new)
            and not any(
                x.has(substitution.new)
                for x in map(context.before, context.touched)
                if x is not None
            )
        )
    return substitution.is_fresh


def _match(substitution: Substitution, line: int, text: str) -> Match | None:
    """Apply a substitution to a line wherever its context fits best."""
    parts = tokens(text)
    size = len(substitution.before)
    found: list[tuple[int, int, int]] = []
    for i in range(len(parts) - size + 1):
        if parts[i : i + size] == substitution.before:
            left, right = _context(substitution, parts, i)
            if size or (left >= 2 and right >= 1):
                found.append((i, left, right))
    if not found or len(found) > _MOST_IN_LINE:
        return None
    best = max(left + right for _, left, right in found)
    kept = [x for x in found if x[1] + x[2] >= min(best, 2)]
    if not size:
        kept = kept[:1]
    out: list[str] = []
    at = 0
    for i, _, _ in kept:
        out += parts[at:i] + substitution.after
        at = i + size
    out += parts[at:]
    _, left, right = max(kept, key=lambda x: x[1] + x[2])
    return Match(line, "".join(out), left, right, len("".join(parts[: kept[0][0]])))


def _context(substitution: Substitution, parts: tuple[str, ...], at: int) -> tuple[int, int]:
    """Return how many tokens around a place are those around an example."""
    best = (0, 0)
    end = at + len(substitution.before)
    for use in substitution.uses:
        left = right = 0
        while left < min(_CONTEXT, at, len(use.left)) and parts[at - 1 - left] == use.left[~left]:
            left += 1
        while (
            right < min(_CONTEXT, len(parts) - end, len(use.right))
            and parts[end + right] == use.right[right]
        ):
            right += 1
        if _is_start(parts, at - left) and _is_start(use.left, len(use.left) - left):
            left = _CONTEXT
        if len(parts) - end == right and len(use.right) == right:
            right = _CONTEXT
        best = max(best, (left, right), key=sum)
    return best


def _is_start(parts: Sequence[str], at: int) -> bool:
    """Return whether nothing but blanks is before a token."""
    return at == 0 or (at == 1 and parts[0].isspace())


def _neighbours(matches: list[Match]) -> Iterator[list[Match]]:
    """Yield runs of lines that follow each other."""
    run: list[Match] = []
    for match in matches:
        if run and match.line != run[-1].line + 1:
            yield run
            run = []
        run.append(match)
    if run:
        yield run


def _candidate(
    context: EditContext,
    substitution: Substitution,
    file: SourceFile,
    group: list[Match],
    counts: tuple[int, int, int],
) -> Candidate:
    start, end = group[0].line, group[-1].line + 1
    best = max(group, key=lambda match: match.left + match.right)
    likeness = max(
        alike(use.edit.old, file.lines[match.line]) for use in substitution.uses for match in group
    )
    features = location_features(context, file, start, end)
    features |= context.once(
        ("repeat", id(substitution), file.uri),
        partial(_of_substitution, context, substitution, file),
    )
    features |= _of_place(substitution, file, best, likeness)
    prose = _is_prose(file, group[0].line, group[0].column)
    features |= {
        "whole": float(
            any(
                use.edit.old.strip() == file.lines[match.line].strip()
                for use in substitution.uses
                for match in group
            )
        ),
        "places": log1p(counts[0]),
        "skipped": log1p(counts[1]),
        "passed": log1p(counts[2]),
        "rate": len(substitution.uses) / (len(substitution.uses) + counts[2]),
        "prose": float(prose),
        "prose_apart": float(prose != _was_prose(context, substitution)),
        "run": float(len(group) > 1),
    }
    return Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=[match.result for match in group],
        rule="repeat",
        cause=f"{substitution.old}\0{substitution.new}",
        features=features,
        column=group[0].column,
        names=(substitution.old, substitution.new) if substitution.is_name else None,
    )


def _of_substitution(
    context: EditContext, substitution: Substitution, file: SourceFile
) -> dict[str, float]:
    """Describe a substitution: how often it was seen, and what it does."""
    hunks = separate(use.edit for use in substitution.uses)
    return {
        "support2": float(len(substitution.uses) > 1),
        "support3": float(len(substitution.uses) > 2),
        "hunks2": float(hunks > 1),
        "hunks3": float(hunks > 2),
        "name": float(substitution.is_name),
        "deletes": float(not substitution.after),
        "inserts": float(not substitution.before),
        "long": log1p(len(substitution.before)),
        "wordless": float(not any(is_word(token) for token in substitution.before)),
        "age": log1p(context.hunks[0].turn - max(use.edit.hunk.turn for use in substitution.uses)),
        "still": float(substitution.is_name and _is_bound(context, file, substitution.old)),
        "unknown": float(substitution.is_name and not _is_bound(context, file, substitution.new)),
        "calm": max(alike(use.edit.old, use.edit.new) for use in substitution.uses),
        "even": float(any(len(x.edit.hunk.old) == len(x.edit.hunk.new) for x in substitution.uses)),
        "small": float(any(len(x.edit.hunk.new) == 1 for x in substitution.uses)),
        "rest": log1p(min(x.rest for x in substitution.uses)),
        "number": float("".join(substitution.before).strip(". ").isdigit()),
        "fresh": float(substitution.is_name and _is_fresh(context, substitution)),
        "common": log1p(context.project.count(substitution.old)) if substitution.is_name else 0.0,
    } | coverage_features(context, (use.edit.hunk for use in substitution.uses))


def _of_place(
    substitution: Substitution, file: SourceFile, best: Match, likeness: float
) -> dict[str, float]:
    """Describe how a place is like the examples."""
    hunks = separate(use.edit for use in substitution.uses)
    solid = best.left + best.right >= _CONTEXT
    complete = any(
        transfer(use.edit.old.strip(), use.edit.new.strip(), file.lines[best.line].strip())
        == best.result.strip()
        for use in substitution.uses
    )
    return {
        "solid": float(solid),
        "solid2": float(solid and len(substitution.uses) > 1),
        "solid3": float(solid and hunks > 2),
        "same1": float(likeness > 0.85 and len(substitution.uses) == 1),
        "same2": float(likeness > 0.85 and hunks > 1),
        "left": best.left / _CONTEXT,
        "right": best.right / _CONTEXT,
        "bare": float(best.left + best.right == 0),
        "alike": likeness,
        "same": float(likeness > 0.85),
        "complete": float(complete),
    }


def _is_bound(context: EditContext, file: SourceFile, name: str) -> bool:
    found = context.names(file)
    return found is not None and name in found.bound


def _is_prose(file: SourceFile, line: int, column: int) -> bool:
    """Return whether a place is in a string or a comment."""
    return file.tree is not None and file.tree.is_prose(line, column, file.lines[line])


def _was_prose(context: EditContext, substitution: Substitution) -> bool:
    """Return whether the last example is in a string or a comment."""
    use = substitution.uses[0]
    file = context.files.get(use.edit.hunk.uri)
    if file is None or not 0 <= use.edit.line < len(file.lines):
        return False
    return _is_prose(file, use.edit.line, len("".join(use.left)))
