"""Names whose definition an edit has removed or renamed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import partial
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._names.scopes import Place
from parley.nes.embedded._names.table import Names
from parley.nes.embedded._proposals import renamed
from parley.nes.embedded._python.imports import remove, statements
from parley.nes.embedded._source import SourceFile, cleared, statement_at
from parley.nes.embedded._tokens import words

_MOST_NAMES = 6
_MOST_PAGES = 8
_SET = re.compile(r"\s*(?::[^=]+)?=(?!=)")
_DEFINED = re.compile(r"\b(?:def|func|fn)[ \t]+$")


class Loss(NamedTuple):
    """A name that has lost its meaning."""

    name: str
    new: str
    """The new name, if it is known."""
    kind: str
    turn: int
    support: int
    is_new: bool = False
    """Whether the new name was unknown before."""
    is_lone: bool = False
    """Whether it was changed in a line by itself."""


def dangling_names(context: EditContext) -> Iterator[Candidate]:
    """Yield the uses of names that nobody binds any more."""
    for uri in context.lately:
        file = context.files.get(uri)
        mine, old = context.names(file), context.names(context.before(uri))
        if file is None or mine is None or old is None or context.is_late():
            continue
        joined: list[Candidate] = []
        for loss in _lost(context, file, mine, old):
            places = [
                x for x in mine.used[loss.name] if not context.is_edited(uri, x.line, x.line + 1)
            ]
            found = list(_at(context, file, loss, places))
            for candidate in found:
                _join(candidate, joined)
            yield from found
            joined += found
        for loss in _lost_members(context, file, mine, old):
            yield from _of_member(context, file, loss)
        for loss in _lost_exports(context, file, mine, old):
            for other in context.elsewhere(loss.name, _MOST_PAGES):
                if other.uri != uri:
                    yield from _at(
                        context, other, loss, _export_places(context, other, loss.name, file)
                    )


def _join(candidate: Candidate, others: list[Candidate]) -> None:
    """Rename two names at once where they share lines."""
    for other in others:
        same = (candidate.start, candidate.end) == (other.start, other.end)
        if same and candidate.names and other.names:
            old, new = other.names
            candidate.lines = [
                re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, line) for line in candidate.lines
            ]
            candidate.features["joint"] = 1.0
            other.lines = candidate.lines


def _lost(context: EditContext, file: SourceFile, mine: Names, old: Names) -> Iterator[Loss]:
    """Yield names of the file itself that are used and no longer bound."""
    found = file.since(context.before(file.uri), "lost", partial(_unbound, mine, old))
    if not found:
        return
    fresh = set(mine.bound)
    inner = mine.local | fresh
    for name in found[:_MOST_NAMES]:
        if name in old.bound:
            yield _loss(context, name, "name", fresh)
        else:
            yield _loss(context, name, "local", inner)


def _unbound(mine: Names, old: Names) -> list[str]:
    """Return names that are used and bound by nobody, and were bound before."""
    if mine.is_open:
        return []
    bound, was_bound = mine.bound, old.bound
    return [
        name
        for name in mine.used
        if name not in bound
        and name not in BUILTINS
        and (name in was_bound or (name in old.local and name not in old.used))
    ]


def _loss(context: EditContext, name: str, kind: str, fresh: Set[str]) -> Loss:
    """Return what happened to a name: its replacement in an edit, if that is bound."""
    turn = max(
        (x.turn for x in context.hunks if any(name in words(line) for line in x.old)), default=0
    )
    substitutions = [
        substitution
        for substitution in context.substitutions
        if substitution.before == (name,)
        and substitution.is_name
        and substitution.after[0] in fresh
    ]
    best = max(substitutions, key=lambda substitution: len(substitution.uses), default=None)
    if best is None or not any(use.rest == 0 for use in best.uses):
        return Loss(name, "", kind, turn, 0)
    before = {word for hunk in context.hunks for line in hunk.old for word in words(line)}
    new = best.after[0]
    is_lone = any(len(x.edit.hunk.old) == len(x.edit.hunk.new) == 1 for x in best.uses)
    return Loss(name, new, kind, turn, len(best.uses), new not in before, is_lone)


def _lost_members(
    context: EditContext, file: SourceFile, mine: Names, old: Names
) -> Iterator[Loss]:
    """Yield methods and attributes of classes that are no longer defined."""
    gone = set(file.since(context.before(file.uri), "lost members", partial(_gone, mine, old)))
    for hunk in context.touched[file.uri]:
        gone |= set(re.findall(r"\b(?:self|this)\.(\w+)\s*(?::[^=]+)?=[^=]", "\n".join(hunk.old)))
    fresh = {x.name for x in mine.functions}
    fresh |= {
        substitution.after[0]
        for substitution in context.substitutions
        if substitution.is_name
        and substitution.before[0] in gone
        and _defines_member(file, substitution.after[0])
    }
    for name in sorted(gone)[:_MOST_NAMES]:
        if not name.startswith("__") and not _defines_member(file, name):
            yield _loss(context, name, "member", fresh)


def _gone(mine: Names, old: Names) -> set[str]:
    """Return the methods that are no longer defined."""
    return {x.name for x in old.functions if x.owner} - {x.name for x in mine.functions}


def _defines_member(file: SourceFile, name: str) -> bool:
    """Return whether a file assigns or defines a member of this name."""
    key = f"defines {name}"
    if key not in file.notes:
        file.notes[key] = any(_is_definition(file, at, name) for at in file.places(name))
    return bool(file.notes[key])


def _is_definition(file: SourceFile, offset: int, name: str) -> bool:
    number = file.line_of(offset)
    line, at = file.lines[number], offset - file.starts[number]
    before, after = line[:at], line[at + len(name) :]
    if before.endswith(("self.", "this.")):
        return _SET.match(after) is not None
    if before and not before.strip():
        return after.lstrip()[:1] in (":", "=")
    return _DEFINED.search(before) is not None


def _member_places(context: EditContext, file: SourceFile, name: str) -> list[Place]:
    found = context.names(file)
    if found is None or (file is not context.file and _defines_member(file, name)):
        return []
    return [x for x in found.members[name] if not context.is_edited(file.uri, x.line, x.line + 1)]


def _of_member(context: EditContext, file: SourceFile, loss: Loss) -> Iterator[Candidate]:
    """Yield the uses of a lost member; if other classes have one of that name, only its own."""
    others = [x for x in context.elsewhere(loss.name, _MOST_PAGES) if x is not file]
    if any(_defines_member(x, loss.name) for x in others):
        yield from _at(context, file, loss, _own_places(context, file, loss.name))
        return
    for other in [file, *others]:
        yield from _at(context, other, loss, _member_places(context, other, loss.name))


def _own_places(context: EditContext, file: SourceFile, name: str) -> list[Place]:
    """Return where an object uses its own member, and not one of that name of another class."""
    return [
        x
        for x in _member_places(context, file, name)
        if file.lines[x.line].encode()[: x.column].endswith((b"self.", b"cls.", b"this."))
    ]


def _lost_exports(
    context: EditContext, file: SourceFile, mine: Names, old: Names
) -> Iterator[Loss]:
    """Yield functions, classes and constants that the file no longer has."""
    gone = file.since(context.before(file.uri), "lost exports", partial(_gone_exports, mine, old))
    for name in gone[:_MOST_NAMES]:
        yield _loss(context, name, "export", set(mine.bound))


def _gone_exports(mine: Names, old: Names) -> list[str]:
    imported = {here for x in old.imports for _, here in x.names}
    return [x for x in old.bound if x not in mine.bound and len(x) > 2 and x not in imported]


def _export_places(
    context: EditContext, file: SourceFile, name: str, home: SourceFile
) -> list[Place]:
    """Return where another file uses a name of the home file."""
    found = context.names(file)
    if found is None:
        return []
    stem = home.path.parent.name if home.path.stem == "__init__" else home.path.stem
    is_imported = any(
        here == name and _last(x.module) in (stem, home.path.parent.name, "")
        for x in found.imports
        for _, here in x.names
    )
    places = found.bound[name] + found.used[name] if is_imported else []
    if stem in found.used or home.path.parent.name in found.used:
        places += found.members[name]
    return [x for x in places if not context.is_edited(file.uri, x.line, x.line + 1)]


def _last(module: str) -> str:
    """Return the last part of a module's name or path."""
    return re.split(r"[./]", re.sub(r"\.[jt]sx?$", "", module))[-1]


def _at(
    context: EditContext, file: SourceFile, loss: Loss, places: list[Place]
) -> Iterator[Candidate]:
    """Yield runs of lines that use a lost name."""
    lines = sorted({x.line for x in places})
    run: list[int] = []
    for line in [*lines, -1]:
        if run and line != run[-1] + 1:
            yield _candidate(context, file, loss, (run, places))
            if not loss.new:
                yield from _deleted(context, file, loss, (run, places))
            run = []
        run.append(line)


def _candidate(
    context: EditContext, file: SourceFile, loss: Loss, where: tuple[list[int], list[Place]]
) -> Candidate:
    run, places = where
    old = file.lines[run[0] : run[-1] + 1]
    lines = old
    if loss.new:
        lines = [
            renamed(
                file.lines[line],
                (x.column for x in places if x.line == line),
                (loss.name, loss.new),
            )
            for line in run
        ]
    features = location_features(context, file, run[0], run[-1] + 1) | _of_loss(
        context, loss, places
    )
    features["run"] = float(len(run) > 1)
    return Candidate(
        uri=file.uri,
        start=run[0],
        end=run[-1] + 1,
        lines=lines,
        rule="rename" if loss.new else "leftover",
        cause=f"{loss.name}\0{loss.new}",
        features=features,
        is_sure=bool(loss.new),
        column=file.column_of(run[0], min(x.column for x in places if x.line == run[0])),
        names=(loss.name, loss.new) if loss.new else None,
        places=places,
    )


def _of_loss(context: EditContext, loss: Loss, places: list[Place]) -> dict[str, float]:
    return {
        f"kind_{loss.kind}": 1.0,
        "support2": float(loss.support > 1),
        "support3": float(loss.support > 2),
        "places": log1p(len(places)),
        "age": log1p(context.hunks[0].turn - loss.turn),
        "short": float(len(loss.name) < 3),
        "upper": float(loss.name[:1].isupper()),
        "anew": float(loss.is_new),
        "lone": float(loss.is_lone),
        "lone_anew": float(loss.is_lone and loss.is_new),
    }


def _deleted(
    context: EditContext, file: SourceFile, loss: Loss, where: tuple[list[int], list[Place]]
) -> Iterator[Candidate]:
    """Yield the statements of a run without what is gone: deleted, or imported no more."""
    run, places = where
    found = [statement_at(file, *x) for x in places if x.line in run]
    extents = sorted({x for x in found if x is not None})
    if not extents or len(found) > len([x for x in found if x]):
        return
    start, end = extents[0].start, max(x.end for x in extents)
    lines: list[str] = []
    features = location_features(context, file, start, end)
    if extents[0].kind == "import_from_statement" and file.language == "python":
        start, end, lines = _unimported(file, start, loss.name)
    elif any(x.is_lonely for x in extents) or context.is_edited(file.uri, start, end):
        return
    else:
        start, end = cleared(file, start, end)
    features |= _of_loss(context, loss, places) | {
        "simple": float(all(x.is_simple for x in extents)),
        "imports": float("import" in extents[0].kind),
        "returns": float("return" in extents[0].kind),
        "assigns": float(re.match(r"\s*[\w.]+\s*=[^=]", file.lines[extents[0].start]) is not None),
        "called": float(re.match(rf"\s*(?:\w+\.)*{loss.name}\(", file.lines[run[0]]) is not None),
        "asserts": float("assert" in file.lines[extents[0].start]),
        "size": log1p(end - start),
        "run": float(len(run) > 1),
        "whole": float(any(x.old and not x.new for x in context.hunks)),
    }
    yield Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=lines,
        rule="leftover deletion",
        cause=f"{loss.name}\0",
        features=features,
    )


def _unimported(file: SourceFile, line: int, name: str) -> tuple[int, int, list[str]]:
    for statement in statements(file.text):
        if statement.start <= line < statement.end:
            here = next((x[1] for x in statement.names if x[0] == name), name)
            fresh = remove(list(file.lines), statement, here)
            gone = len(file.lines) - len(fresh)
            end = max(statement.end, statement.start + gone)
            return statement.start, end, fresh[statement.start : end - gone]
    return line, line + 1, []
