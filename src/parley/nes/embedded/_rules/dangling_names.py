"""What an edit left behind: names whose definition went away or got another name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import partial
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, Situation, place
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._names.scopes import Place
from parley.nes.embedded._names.table import Names, names
from parley.nes.embedded._proposals import renamed
from parley.nes.embedded._python.imports import remove, statements
from parley.nes.embedded._source import Page, cleared, statement_at
from parley.nes.embedded._tokens import words

_MOST_NAMES = 6
_MOST_PAGES = 8
_SET = re.compile(r"\s*(?::[^=]+)?=(?!=)")
_DEFINED = re.compile(r"\b(?:def|func|fn)[ \t]+$")


class Loss(NamedTuple):
    """A name that has lost its meaning."""

    name: str
    new: str
    """What it is called now, if that is known."""
    kind: str
    turn: int
    support: int
    is_new: bool = False
    """Whether the new name was unknown before."""
    is_lone: bool = False
    """Whether it was changed in a line by itself."""


def leftover(now: Situation) -> Iterator[Candidate]:
    """Yield the uses of names that nobody binds any more."""
    for uri in now.lately:
        page = now.pages.get(uri)
        mine, old = names(page), names(now.before(uri))
        if page is None or mine is None or old is None or now.is_late():
            continue
        joined: list[Candidate] = []
        for loss in _lost(now, page, mine, old):
            places = [x for x in mine.used[loss.name] if not now.is_edited(uri, x.line, x.line + 1)]
            found = list(_at(now, page, loss, places))
            for candidate in found:
                _join(candidate, joined)
            yield from found
            joined += found
        for loss in _lost_members(now, page, mine, old):
            yield from _of_member(now, page, loss)
        for loss in _lost_exports(now, page, mine, old):
            for other in now.elsewhere(loss.name, _MOST_PAGES):
                if other.uri != uri:
                    yield from _at(now, other, loss, _export_places(now, other, loss.name, page))


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


def _lost(now: Situation, page: Page, mine: Names, old: Names) -> Iterator[Loss]:
    """Yield names of the file itself that are used and no longer bound."""
    found = page.since(now.before(page.uri), "lost", partial(_unbound, mine, old))
    if not found:
        return
    fresh = set(mine.bound)
    inner = mine.local | fresh
    for name in found[:_MOST_NAMES]:
        if name in old.bound:
            yield _loss(now, name, "name", fresh)
        else:
            yield _loss(now, name, "local", inner)


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


def _loss(now: Situation, name: str, kind: str, fresh: Set[str]) -> Loss:
    """Say what became of a name: what an edit put in its stead and nothing else, if it is bound."""
    turn = max((x.turn for x in now.hunks if any(name in words(line) for line in x.old)), default=0)
    rules = [
        rule
        for rule in now.rules
        if rule.before == (name,) and rule.is_name and rule.after[0] in fresh
    ]
    best = max(rules, key=lambda rule: len(rule.uses), default=None)
    if best is None or not any(use.rest == 0 for use in best.uses):
        return Loss(name, "", kind, turn, 0)
    before = {word for hunk in now.hunks for line in hunk.old for word in words(line)}
    new = best.after[0]
    is_lone = any(len(x.edit.hunk.old) == len(x.edit.hunk.new) == 1 for x in best.uses)
    return Loss(name, new, kind, turn, len(best.uses), new not in before, is_lone)


def _lost_members(now: Situation, page: Page, mine: Names, old: Names) -> Iterator[Loss]:
    """Yield methods and attributes of classes that are no longer defined."""
    gone = set(page.since(now.before(page.uri), "lost members", partial(_gone, mine, old)))
    for hunk in now.touched[page.uri]:
        gone |= set(re.findall(r"\b(?:self|this)\.(\w+)\s*(?::[^=]+)?=[^=]", "\n".join(hunk.old)))
    fresh = {x.name for x in mine.functions}
    fresh |= {
        rule.after[0]
        for rule in now.rules
        if rule.is_name and rule.before[0] in gone and _defines_member(page, rule.after[0])
    }
    for name in sorted(gone)[:_MOST_NAMES]:
        if not name.startswith("__") and not _defines_member(page, name):
            yield _loss(now, name, "member", fresh)


def _gone(mine: Names, old: Names) -> set[str]:
    """Return the methods that are no longer defined."""
    return {x.name for x in old.functions if x.owner} - {x.name for x in mine.functions}


def _defines_member(page: Page, name: str) -> bool:
    """Return whether a page assigns or defines a member of this name."""
    key = f"defines {name}"
    if key not in page.notes:
        page.notes[key] = any(_is_definition(page, at, name) for at in page.places(name))
    return bool(page.notes[key])


def _is_definition(page: Page, offset: int, name: str) -> bool:
    number = page.line_of(offset)
    line, at = page.lines[number], offset - page.starts[number]
    before, after = line[:at], line[at + len(name) :]
    if before.endswith(("self.", "this.")):
        return _SET.match(after) is not None
    if before and not before.strip():
        return after.lstrip()[:1] in (":", "=")
    return _DEFINED.search(before) is not None


def _member_places(now: Situation, page: Page, name: str) -> list[Place]:
    found = names(page)
    if found is None or (page is not now.page and _defines_member(page, name)):
        return []
    return [x for x in found.members[name] if not now.is_edited(page.uri, x.line, x.line + 1)]


def _of_member(now: Situation, page: Page, loss: Loss) -> Iterator[Candidate]:
    """Yield the uses of a lost member; if other classes have one of that name, only its own."""
    others = [x for x in now.elsewhere(loss.name, _MOST_PAGES) if x is not page]
    if any(_defines_member(x, loss.name) for x in others):
        yield from _at(now, page, loss, _own_places(now, page, loss.name))
        return
    for other in [page, *others]:
        yield from _at(now, other, loss, _member_places(now, other, loss.name))


def _own_places(now: Situation, page: Page, name: str) -> list[Place]:
    """Return where an object uses its own member, and not one of that name of another class."""
    return [
        x
        for x in _member_places(now, page, name)
        if page.lines[x.line].encode()[: x.column].endswith((b"self.", b"cls.", b"this."))
    ]


def _lost_exports(now: Situation, page: Page, mine: Names, old: Names) -> Iterator[Loss]:
    """Yield functions, classes and constants that the file no longer has."""
    gone = page.since(now.before(page.uri), "lost exports", partial(_gone_exports, mine, old))
    for name in gone[:_MOST_NAMES]:
        yield _loss(now, name, "export", set(mine.bound))


def _gone_exports(mine: Names, old: Names) -> list[str]:
    imported = {here for x in old.imports for _, here in x.names}
    return [x for x in old.bound if x not in mine.bound and len(x) > 2 and x not in imported]


def _export_places(now: Situation, page: Page, name: str, home: Page) -> list[Place]:
    """Return where another file uses a name of the home file."""
    found = names(page)
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
    return [x for x in places if not now.is_edited(page.uri, x.line, x.line + 1)]


def _last(module: str) -> str:
    """Return the last part of a module's name or path."""
    return re.split(r"[./]", re.sub(r"\.[jt]sx?$", "", module))[-1]


def _at(now: Situation, page: Page, loss: Loss, places: list[Place]) -> Iterator[Candidate]:
    """Yield runs of lines that use a lost name."""
    lines = sorted({x.line for x in places})
    run: list[int] = []
    for line in [*lines, -1]:
        if run and line != run[-1] + 1:
            yield _candidate(now, page, loss, (run, places))
            if not loss.new:
                yield from _deleted(now, page, loss, (run, places))
            run = []
        run.append(line)


def _candidate(
    now: Situation, page: Page, loss: Loss, where: tuple[list[int], list[Place]]
) -> Candidate:
    run, places = where
    old = page.lines[run[0] : run[-1] + 1]
    lines = old
    if loss.new:
        lines = [
            renamed(
                page.lines[line],
                (x.column for x in places if x.line == line),
                (loss.name, loss.new),
            )
            for line in run
        ]
    features = place(now, page, run[0], run[-1] + 1) | _of_loss(now, loss, places)
    features["run"] = float(len(run) > 1)
    return Candidate(
        uri=page.uri,
        start=run[0],
        end=run[-1] + 1,
        lines=lines,
        rule="rename" if loss.new else "leftover",
        cause=f"{loss.name}\0{loss.new}",
        features=features,
        is_sure=bool(loss.new),
        column=page.column_of(run[0], min(x.column for x in places if x.line == run[0])),
        names=(loss.name, loss.new) if loss.new else None,
        places=places,
    )


def _of_loss(now: Situation, loss: Loss, places: list[Place]) -> dict[str, float]:
    return {
        f"kind_{loss.kind}": 1.0,
        "support2": float(loss.support > 1),
        "support3": float(loss.support > 2),
        "places": log1p(len(places)),
        "age": log1p(now.hunks[0].turn - loss.turn),
        "short": float(len(loss.name) < 3),
        "upper": float(loss.name[:1].isupper()),
        "anew": float(loss.is_new),
        "lone": float(loss.is_lone),
        "lone_anew": float(loss.is_lone and loss.is_new),
    }


def _deleted(
    now: Situation, page: Page, loss: Loss, where: tuple[list[int], list[Place]]
) -> Iterator[Candidate]:
    """Yield the statements of a run without what is gone: deleted, or imported no more."""
    run, places = where
    found = [statement_at(page, *x) for x in places if x.line in run]
    extents = sorted({x for x in found if x is not None})
    if not extents or len(found) > len([x for x in found if x]):
        return
    start, end = extents[0].start, max(x.end for x in extents)
    lines: list[str] = []
    features = place(now, page, start, end)
    if extents[0].kind == "import_from_statement" and page.language == "python":
        start, end, lines = _unimported(page, start, loss.name)
    elif any(x.is_lonely for x in extents) or now.is_edited(page.uri, start, end):
        return
    else:
        start, end = cleared(page, start, end)
    features |= _of_loss(now, loss, places) | {
        "simple": float(all(x.is_simple for x in extents)),
        "imports": float("import" in extents[0].kind),
        "returns": float("return" in extents[0].kind),
        "assigns": float(re.match(r"\s*[\w.]+\s*=[^=]", page.lines[extents[0].start]) is not None),
        "called": float(re.match(rf"\s*(?:\w+\.)*{loss.name}\(", page.lines[run[0]]) is not None),
        "asserts": float("assert" in page.lines[extents[0].start]),
        "size": log1p(end - start),
        "run": float(len(run) > 1),
        "whole": float(any(x.old and not x.new for x in now.hunks)),
    }
    yield Candidate(
        uri=page.uri,
        start=start,
        end=end,
        lines=lines,
        rule="leftover deletion",
        cause=f"{loss.name}\0",
        features=features,
    )


def _unimported(page: Page, line: int, name: str) -> tuple[int, int, list[str]]:
    for statement in statements(page.text):
        if statement.start <= line < statement.end:
            here = next((x[1] for x in statement.names if x[0] == name), name)
            fresh = remove(list(page.lines), statement, here)
            gone = len(page.lines) - len(fresh)
            end = max(statement.end, statement.start + gone)
            return statement.start, end, fresh[statement.start : end - gone]
    return line, line + 1, []
