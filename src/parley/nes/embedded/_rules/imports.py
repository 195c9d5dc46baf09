"""Imports of Python files: names that nobody binds any more, and imports that nobody uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import partial
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._names.scopes import Place
from parley.nes.embedded._names.table import Names
from parley.nes.embedded._python.imports import (
    HEADER,
    Addition,
    Statement,
    additions,
    imports_of,
    is_tidy,
    remove,
    statements,
)
from parley.nes.embedded._python.modules import Source, has_singles, is_own, sources
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._tokens import indent, words

_MOST_NAMES = 8
_MOST_WAYS = 3


class Fix(NamedTuple):
    """One thing to do about imports."""

    rule: str
    name: str
    apply: Callable[[list[str]], list[str]]
    features: dict[str, float]
    lines: list[str]
    """The lines of the file with this fix alone."""
    statement: Statement | None = None
    """The statement that goes away altogether, if one does."""
    is_first: bool = True
    """Whether it is the likeliest of several ways."""


def imports(context: EditContext) -> Iterator[Candidate]:
    """Yield what is to be imported and what no longer is, in the file that is edited now.

    Other files are left alone: who has gone on to the next one is done with their imports.
    """
    file = context.file
    if file.uri not in context.touched or file.language != "python":
        return
    mine, old = context.names(file), context.names(context.before(file.uri))
    if mine is None or old is None:
        return
    fixes = [*_missing(context, file, mine, old), *_unused(context, file, mine, old)]
    for fix in fixes:
        fix.features["swap"] = float(len({x.rule for x in fixes}) > 1)
    yield from _candidates(context, file, fixes)
    yield from _doubles(context, file)


def _unused(context: EditContext, file: SourceFile, mine: Names, old: Names) -> Iterator[Fix]:
    """Yield the imports whose last use went away, and others if such are being cleared away."""
    cleared = _cleared(context, file, old)
    fresh = [x for x in mine.used if x not in mine.bound and x not in BUILTINS and x in old.bound]
    for statement in imports_of(file):
        if statement.module == "__future__" or "noqa" in statement.tail:
            continue
        gone = [here for _, here in statement.names if here not in mine.used]
        for here in gone:
            if here not in old.used and not cleared:
                continue
            features = _of_unused(context, file, mine, here) | {
                "alone": float(len(statement.names) == 1),
                "uses_before": log1p(len(old.used[here])),
                "stale": float(here not in old.used),
                "cleared": log1p(cleared),
                "broken": log1p(len(fresh)),
                "guarded": float(bool(statement.indent)),
                "untidy": log1p(sum(x not in old.used for x in _imported(old))),
            }
            whole = statement if len(gone) == len(statement.names) else None
            lines = remove(file.lines, statement, here)
            yield Fix("unused import", here, _remover(here), features, lines, whole)


def _of_unused(context: EditContext, file: SourceFile, mine: Names, here: str) -> dict[str, float]:
    return {
        "mentions": log1p(max(0, len(file.places(here, 9)) - 1)),
        "package": float(file.path.stem == "__init__"),
        "nested": float(len(mine.bound[here]) > 1),
        "age": _age(context, file, here),
        "moved": float(any(here in words(x) for h in context.hunks for x in h.new)),
    }


def _imported(found: Names) -> list[str]:
    return [here for x in found.imports if not x.is_nested for _, here in x.names]


def _cleared(context: EditContext, file: SourceFile, old: Names) -> int:
    """Count the imports that were taken away although nobody used them before."""
    count = 0
    for hunk in context.touched[file.uri]:
        left = set(words("\n".join(hunk.new)))
        for statement in statements("\n".join(hunk.old)):
            count += sum(x not in left and x not in old.used for _, x in statement.names)
    return count


def _age(context: EditContext, file: SourceFile, name: str) -> float:
    """Return how long ago the last use of a name went away."""
    turns = [
        hunk.turn for hunk in context.touched[file.uri] if any(name in words(x) for x in hunk.old)
    ]
    return log1p(context.hunks[0].turn - max(turns, default=0))


def _remover(here: str) -> Callable[[list[str]], list[str]]:
    def apply(lines: list[str]) -> list[str]:
        for statement in statements("\n".join(lines[:HEADER])):
            if any(name[1] == here for name in statement.names):
                return remove(lines, statement, here)
        return lines

    return apply


def _missing(context: EditContext, file: SourceFile, mine: Names, old: Names) -> Iterator[Fix]:
    """Yield imports for names that came in with an edit, or that lost their import."""
    if mine.is_open:
        return
    imported = set(_imported(old))
    unbound = [
        name
        for name in mine.used
        if name not in mine.bound
        and name not in BUILTINS
        and (name in imported or (name not in old.used and not _was_local(old, name)))
    ]
    known = imports_of(file)
    untidy = sum(x not in old.bound and x not in BUILTINS for x in old.used)
    has_guard = any(x.indent for x in known)
    for name in sorted(unbound[:_MOST_NAMES], key=str.lower):
        found = [x for x in sources(context, file, name) if not _is_gone(context, file, x)]
        for rank, source in enumerate(found[:2]):
            features = _of_source(source, found, rank) | {
                "uses": log1p(len(mine.used[name])),
                "unbound": log1p(len(unbound)),
                "old_word": float(file.path.stem != name and name in _words(context, file)),
                "last": float(any(name in words(line) for line in context.hunks[0].new)),
                "upper": float(name[:1].isupper()),
                "known": float(source.module in {x.module for x in known if x.module}),
                "tidy": float(is_tidy(known)),
                "statements": log1p(len(known)),
                "untidy": log1p(untidy),
                "lost": float(name in imported),
            }
            is_typing = has_guard and _is_annotation(file, known, mine.used[name])
            yield from _ways(context, file, source, features, is_typing)


def _of_source(source: Source, found: list[Source], rank: int) -> dict[str, float]:
    return {
        "votes": log1p(source.votes),
        "share": source.votes / sum(x.votes for x in found),
        "second": float(rank),
        "defined": float(source.kind == "defined"),
        "standard": float(source.kind == "standard"),
        "guessed": float(source.kind == "guessed"),
        "module": float(source.module is None),
    }


def _is_gone(context: EditContext, file: SourceFile, source: Source) -> bool:
    """Return whether an import was just taken away."""
    for hunk in context.touched[file.uri]:
        for x in statements("\n".join(hunk.old)):
            if x.module == source.module and source.name in x.names:
                return True
    return False


def _is_annotation(file: SourceFile, known: list[Statement], places: list[Place]) -> bool:
    """Return whether a name stands only in annotations that nobody evaluates."""
    tree = file.tree
    is_lazy = any(x.module == "__future__" and ("annotations",) * 2 in x.names for x in known)
    return tree is not None and all(
        tree.is_within("type", *x) and (is_lazy or tree.is_within("string", *x)) for x in places
    )


def _ways(
    context: EditContext,
    file: SourceFile,
    source: Source,
    features: dict[str, float],
    is_typing: bool,
) -> Iterator[Fix]:
    is_single = has_singles(context, file)
    add = partial(
        additions,
        module=source.module,
        name=source.name,
        is_single=is_single,
        is_typing=is_typing,
        is_own=partial(is_own, project=context.project),
    )
    found = add(file.lines)
    for number, way in enumerate(found[:_MOST_WAYS]):
        own = features | way.features | {"way": float(number)}
        own["sorted_fits"] = own.get("in_line", 0.0) * context.style["sorted"]
        is_first = number == 0 and not features["second"]
        adder = _adder(add, number)
        name = source.name[1]
        yield Fix("missing import", name, adder, own, way.lines, is_first=is_first)


def _adder(
    add: Callable[[list[str]], list[Addition]], number: int
) -> Callable[[list[str]], list[str]]:
    def apply(lines: list[str]) -> list[str]:
        found = add(lines)
        return found[min(number, len(found) - 1)].lines

    return apply


def _was_local(old: Names, name: str) -> bool:
    return name in old.bound or name in old.local


def _words(context: EditContext, file: SourceFile) -> frozenset[str]:
    before = context.before(file.uri)
    return before.words if before else frozenset()


def _candidates(context: EditContext, file: SourceFile, fixes: list[Fix]) -> Iterator[Candidate]:
    for fix in fixes:
        yield from _blocks(context, file, fix.lines, [fix])
    first = [fix for fix in fixes if fix.is_first]
    if len(first) > 1:
        together = list(file.lines)
        for fix in first:
            together = fix.apply(together)
        yield from _blocks(context, file, together, first)
    yield from _swapped(context, file, fixes)


def _swapped(context: EditContext, file: SourceFile, fixes: list[Fix]) -> Iterator[Candidate]:
    """Yield a new import in the stead of one that goes away."""
    gone = [fix for fix in fixes if fix.statement is not None]
    come = [fix for fix in fixes if fix.is_first and fix.rule == "missing import"]
    for old in gone[:2]:
        for new in come[:2]:
            lines = [x for start, end, x in _different(file.lines, new.lines) if start == end]
            if old.statement is None or len(lines) != 1 or len(lines[0]) != 1:
                continue
            if indent(lines[0][0]) != old.statement.indent:
                continue
            start, end = old.statement.start, old.statement.end
            yield _candidate(context, file, (start, end, lines[0]), [old, new])


def _doubles(context: EditContext, file: SourceFile) -> Iterator[Candidate]:
    """Yield imports without what is imported once more since an edit."""
    known = imports_of(file)
    fresh = [x for x in known if context.is_edited(file.uri, x.start, x.end)]
    again = {name[1] for x in fresh for name in x.names}
    lines = list(file.lines)
    gone: list[str] = []
    for statement in reversed([x for x in known if x not in fresh]):
        for here in dict.fromkeys(x for _, x in statement.names if x in again):
            found = statements("\n".join(lines[:HEADER]))
            left = next((x for x in found if x.start == statement.start), None)
            if left is not None and left.module == statement.module:
                lines = remove(lines, left, here)
                gone.append(here)
    if gone:
        features = {"many": log1p(len(gone)), "share": len(gone) / len(again)}
        fix = Fix("double import", " ".join(gone), _remover(gone[0]), features, lines)
        yield from _blocks(context, file, lines, [fix])


def _blocks(
    context: EditContext, file: SourceFile, fresh: list[str], fixes: list[Fix]
) -> Iterator[Candidate]:
    """Yield each run of lines that differs as a candidate."""
    for start, end, new in _different(file.lines, fresh):
        said = set(words("\n".join(file.lines[start:end]))) ^ set(words("\n".join(new)))
        own = [fix for fix in fixes if fix.name in said] or fixes
        yield _candidate(context, file, (start, end, new), own)


def _candidate(
    context: EditContext, file: SourceFile, block: tuple[int, int, list[str]], own: list[Fix]
) -> Candidate:
    start, end, new = block
    features: dict[str, float] = {}
    for fix in own:
        for name, value in fix.features.items():
            features[name] = features.get(name, 0.0) + value / len(own)
    rules = sorted({fix.rule for fix in own})
    features |= location_features(context, file, start, end) | context.style
    features["joint"] = float(len(own) > 1)
    features["mixed"] = float(len(rules) > 1)
    return Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=new,
        rule="import swap" if len(rules) > 1 else rules[0],
        cause=" ".join(sorted(fix.name for fix in own)),
        features=features,
    )


def _different(old: list[str], new: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    top, most = 0, min(len(old), len(new))
    while top < most and old[top] == new[top]:
        top += 1
    tail = 0
    while tail < most - top and old[~tail] == new[~tail]:
        tail += 1
    a, b = old[top : len(old) - tail], new[top : len(new) - tail]
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind != "equal":
            yield top + i1, top + i2, b[j1:j2]
