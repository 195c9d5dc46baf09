"""Where a name of a Python file can be imported from, the likeliest first."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from .modules import MODULES, STANDARD, absolute, module_of, relative
from .page import Page
from .python_imports import imports_of, statements
from .situation import Situation

__all__ = ["Source", "defined_in", "has_singles", "sources"]

_MOST_PAGES = 25
_MOST_OPEN = 50
_MOST_MEMBERS = 8
_SHORT = 5
_OWN_NAME = {
    "copy": r"(?<![.\w])copy\(",
    "datetime": r"(?<![.\w])datetime(?:\(|\.(?:utc)?now\b|\.(?:str|from|combine|today|min|max))",
    "glob": r"(?<![.\w])glob\(",
    "pprint": r"(?<![.\w])pprint\(",
    "time": r"(?<![.\w])time\(",
}
"""Modules with a member of their name, and what shows that the member is meant."""
_PART = re.compile(r"[A-Z]*[a-z\d]+|[A-Z\d]+")
_DEFINED = re.compile(r"(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=]+)?=(?!=)")
_CONDITIONS = ("try:", "if ", "elif ", "else:", "except")
_BORROWED = re.compile(r"[ \t]+(?:from[ \t]+\S+[ \t]+)?import[ \t]([^#]*)")
Way: TypeAlias = tuple[str | None, tuple[str, str]]


class Source(NamedTuple):
    """A way to import a name."""

    module: str | None
    """None for `import name`."""
    name: tuple[str, str]
    kind: str
    votes: float


def sources(now: Situation, page: Page, name: str) -> list[Source]:
    """Return the ways to import a name: as other files do, from where it is defined, by custom."""
    found: dict[Way, Source] = {}
    for module, spelled, kind, votes in _votes(now, page, name):
        way = _as_here(now, page, module), spelled
        if not _is_possible(now, page, module, spelled):
            continue
        before = found.get(way)
        if before is None:
            found[way] = Source(*way, kind, votes)
        else:
            found[way] = before._replace(votes=before.votes + votes)
    return sorted(found.values(), key=lambda x: (-x.votes, str(x.module), x.name))


def _votes(
    now: Situation, page: Page, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    for other in [*now.elsewhere(name, _MOST_PAGES), *now.hints]:
        if other.language != "python" or other.uri == page.uri:
            continue
        near = 2.0 if other.path.parent == page.path.parent else 1.0
        for module, spelled in _imported(now, other, name):
            yield module, spelled, "imported", near
        if name in defined_in(other):
            yield module_of(other.path, now.project), (name, name), "defined", 1.5
        elif _borrows(other, name):
            yield module_of(other.path, now.project), (name, name), "defined", 0.8
    for module, spelled in _lost(now, page, name):
        yield module, spelled, "imported", 2.0
    if name in sys.stdlib_module_names and re.search(_OWN_NAME.get(name, "$^"), page.text):
        yield name, (name, name), "standard", 1.0
    elif name in sys.stdlib_module_names:
        yield None, (name, name), "standard", 1.0
    elif name in STANDARD:
        yield STANDARD[name], (name, name), "standard", 1.0
    yield from _by_members(now, page, name)
    yield from _guessed(now, page, name)


def _by_members(
    now: Situation, page: Page, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    """Yield modules whose members are used: one by a short name, or one in a package."""
    used = set(re.findall(rf"(?<![.\w]){re.escape(name)}\.(\w+)", page.text))
    known = {STANDARD[x] for x in used if x in STANDARD}
    if len(known) == 1 and name not in sys.stdlib_module_names and len(name) < _SHORT:
        yield None, (min(known), name), "standard", 0.8
    for part in sorted(used)[:_MOST_MEMBERS]:
        inside = f"{name}.{part}"
        if inside in MODULES or _is_imported(now, inside):
            yield None, (inside, name), "standard" if inside in MODULES else "imported", 2.5


def _is_imported(now: Situation, module: str) -> bool:
    """Return whether a file of the project imports something from a module, or it."""
    first, _, last = module.partition(".")
    found = now.project.pages_with(last, near=now.page, most=_MOST_PAGES)
    return now.project.count(first) > 0 and any(
        x.module == module or (x.module is None and (module, first) in x.names)
        for page in found
        if page.language == "python"
        for x in imports_of(page)
    )


def _guessed(
    now: Situation, page: Page, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    """Yield modules from which this file imports names of the same make, and modules beside it."""
    parts = _PART.findall(name)
    for statement in imports_of(page):
        if statement.module in (None, "__future__"):
            continue
        shared = any(
            parts[-1] == theirs[-1] or parts[0] == theirs[0]
            for theirs in (_PART.findall(other) for other, _ in statement.names)
            if parts and len(parts) > 1 and len(theirs) > 1
        )
        if shared:
            yield absolute(statement.module, page.path, now.project), (name, name), "guessed", 0.4
    for path in (f"{page.path.parent}/{name}.py", f"{page.path.parent}/{name}/__init__.py"):
        if now.project.has(path):
            module = module_of(PurePosixPath(path), now.project)
            if "." in module:
                yield module.rpartition(".")[0], (name, name), "guessed", 1.0


def _lost(now: Situation, page: Page, name: str) -> Iterator[Way]:
    """Yield how other files imported a name until it was moved."""
    for hunk in now.hunks:
        other = now.page_of(hunk.uri)
        if other is None or other.uri == page.uri:
            continue
        for statement in statements("\n".join(hunk.old)):
            module = statement.module
            if module is not None:
                module = absolute(module, other.path, now.project)
            for spelled in statement.names:
                if spelled[1] == name:
                    yield module, spelled


def _is_possible(now: Situation, page: Page, module: str | None, spelled: tuple[str, str]) -> bool:
    """Return whether an import makes sense here: not of itself, not of an unused submodule."""
    if module is not None:
        return module not in ("__future__", module_of(page.path, now.project))
    return "." not in spelled[0] or spelled[0] == spelled[1] or spelled[0] in page.text


def _imported(now: Situation, other: Page, name: str) -> list[tuple[str | None, tuple[str, str]]]:
    out: list[tuple[str | None, tuple[str, str]]] = []
    for statement in imports_of(other):
        for spelled in statement.names:
            if spelled[1] == name:
                module = statement.module
                if module is not None:
                    module = absolute(module, other.path, now.project)
                out.append((module, spelled))
    return out


def defined_in(page: Page) -> frozenset[str]:
    """Return the names that a page's own statements define, read once."""
    kept: frozenset[str] | None = page.notes.get("defined")
    if kept is None:
        margin = (line for line in page.lines if line[:1].isidentifier())
        found = map(_DEFINED.match, margin)
        kept = page.notes["defined"] = frozenset(x[1] or x[2] for x in found if x)
    return kept


def _borrows(page: Page, name: str) -> bool:
    """Return whether a file imports a name for others, in a condition."""
    if any(here == name for x in imports_of(page) for _, here in x.names):
        return False
    for number in page.lines_with(name):
        found = _BORROWED.match(page.lines[number])
        listed = found[1].split(",") if found else ()
        if any(part.split()[-1:] == [name] for part in listed):
            above = next((x for x in reversed(page.lines[:number]) if x[:1].strip()), "")
            return above.startswith(_CONDITIONS)
    return False


def has_singles(now: Situation, page: Page) -> bool | None:
    """Return whether files near a page have a statement for each imported name."""
    kept = (now.before(page.uri) or page).notes
    if "singles" not in kept:
        pages = islice(now.pages.values(), _MOST_OPEN)
        found = [x for x in pages if x is not page and x.language == "python"]
        found += now.project.pages_with("import", near=page, but=set(now.pages), most=6)
        counts = [len(x.names) > 1 for other in found for x in imports_of(other) if x.module]
        kept["singles"] = None if len(counts) < 5 else not any(counts)
    is_single: bool | None = kept["singles"]
    return is_single


def _as_here(now: Situation, page: Page, module: str | None) -> str | None:
    """Spell a module as this file spells those of its own package."""
    if module is None:
        return None
    inside = relative(module, page.path, now.project)
    own = [x.module for x in imports_of(page) if x.module is not None]
    if inside is None or not (any(x.startswith(".") for x in own) or not own):
        return module
    return inside
