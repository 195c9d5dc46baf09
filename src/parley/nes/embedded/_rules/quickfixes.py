"""Fixes for diagnostics, recognised by their messages: the protocol carries no codes.

The messages are those of pyflakes, ruff, pyright, mypy, tsc, rustc, gopls, clangd and Java's tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, Situation, place
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._names.table import names
from parley.nes.embedded._python.imports import add, remove, statements
from parley.nes.embedded._python.modules import sources
from parley.nes.embedded._source import Page
from parley.nes.embedded._tokens import indent, word_at
from parley.nes.engine import Diagnostic

_MOST = 8
_LONGEST = 1_000
"""What is behind so many characters of a message is not read."""
_Q = "['\"`\u2018\u2019]"
_NAME = rf"{_Q}(?P<name>[\w.:\s]+?){_Q}"
_BARE = rf"{_Q}?(?P<name>\w+){_Q}?"
_MEANT = rf"(?:did you mean|maybe|similar name exists)[: ]*(?:to write )?{_Q}(?P<meant>[\w.]+){_Q}"
_QUOTED = re.compile("(?<=['\"`\u2018])\\w+(?=['\"`\u2019])")
_WORD = re.compile(r"\w+")


class Mended(NamedTuple):
    """Lines `start:end` become other lines."""

    start: int
    end: int
    lines: list[str]
    sure: float


def _line(line: int, text: str, sure: float = 1.0) -> Mended:
    return Mended(line, line + 1, [text], sure)


def _word(page: Page, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return where the word is that a diagnostic is about."""
    line = page.lines[diagnostic.span.start.line]
    return word_at(line, min(diagnostic.span.start.column, len(line)))


def replace_name(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Write the name that was meant."""
    at, meant = diagnostic.span.start.line, found["meant"]
    line = page.lines[at]
    named = _QUOTED.findall(found.string, 0, found.start("meant"))
    start, end = _misspelt(line, diagnostic, named, meant) if named else _word(page, diagnostic)
    if start == end:
        return None
    return _line(at, line[:start] + meant + line[end:])


def _misspelt(line: str, diagnostic: Diagnostic, named: list[str], meant: str) -> tuple[int, int]:
    """Return where the name is that one is to stand for; others in the message are owners of it.

    Some tools point at all of `box.lenght`, so the place alone does not tell.
    """
    (first, column), (last, end) = diagnostic.span
    end = max(end, column + 1) if first == last else len(line)
    everywhere: dict[str, tuple[int, int]] = {}
    inside: dict[str, tuple[int, int]] = {}
    for found in _WORD.finditer(line):
        if found[0] in named:
            everywhere.setdefault(found[0], found.span())
            if found.start() < end and found.end() > column:
                inside.setdefault(found[0], found.span())
    places = inside or everywhere
    if not places:
        return 0, 0
    like = partial(SequenceMatcher, None, meant.rpartition(".")[2], autojunk=False)
    return places[max(places, key=lambda name: like(name).ratio())]


def drop_import(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Take an import away, or the name in it."""
    at = diagnostic.span.start.line
    line = page.lines[at]
    name = re.split(r"\s+as\s+", found.groupdict().get("name") or "")[-1]
    if page.language == "python":
        return _drop_python(page, at, re.split(r"\.", name)[-1] if name else "", name)
    if page.language in ("javascript", "typescript", "tsx"):
        return _drop_specifier(page, at, name)
    if re.match(r"\s*(import|use|#\s*include)\b|\s*\"", line):
        return Mended(at, at + 1, [], 1.0)
    return None


def _drop_python(page: Page, at: int, last: str, whole: str) -> Mended | None:
    for statement in statements(page.text):
        if not statement.start <= at < statement.end:
            continue
        here = {name[1] for name in statement.names}
        name = next((x for x in (whole, last, whole.split(".")[0]) if x in here), "")
        if not name and len(here) == 1:
            name = next(iter(here))
        if name:
            lines = remove(page.lines, statement, name)
            return _block(page, lines, 1.0) if lines != page.lines else None
    return None


def _drop_specifier(page: Page, at: int, name: str) -> Mended | None:
    line = page.lines[at]
    if not re.match(r"\s*import\b", line):
        return None
    listed = re.search(r"\{([^}]*)\}", line)
    if listed:
        kept = [x.strip() for x in listed[1].split(",") if x.strip()]
        left = [x for x in kept if re.split(r"\s+as\s+", x)[-1] != name]
        if len(left) < len(kept) and left:
            return _line(
                at, f"{line[: listed.start()]}{{ {', '.join(left)} }}{line[listed.end() :]}"
            )
        if not left and re.match(r"\s*import\s*(type\s*)?\{", line):
            return Mended(at, at + 1, [], 1.0)
        return None
    return Mended(at, at + 1, [], 1.0) if re.search(rf"\b{re.escape(name)}\b", line) else None


def underscore(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Say that a variable is not used."""
    at, line = diagnostic.span.start.line, page.lines[diagnostic.span.start.line]
    place = re.search(rf"\b{re.escape(found['name'])}\b", line)
    if place is None:
        return None
    return _line(at, f"{line[: place.start()]}_{line[place.start() :]}")


def drop_variable(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Take an assignment away; what is called stays."""
    at, line = diagnostic.span.start.line, page.lines[diagnostic.span.start.line]
    parts = re.fullmatch(rf"(\s*){re.escape(found['name'])}\s*(?::[^=]+)?=\s*([^=].*)", line)
    if parts is None:
        return None
    if "(" in parts[2]:
        return _line(at, parts[1] + parts[2], 0.7)
    return Mended(at, at + 1, [], 0.8)


def drop_mut(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Take `mut` away."""
    at, line = diagnostic.span.start.line, page.lines[diagnostic.span.start.line]
    fresh = re.sub(r"\bmut\s+", "", line, count=1)
    return _line(at, fresh) if fresh != line else None


def import_name(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Import a name, or write the one that is nearly the same."""
    name = found["name"]
    if page.language == "python":
        known = names(page)
        if known is not None and name in known.bound:
            return None  # it was written since
        ways = sources(now, page, name)
        if ways:
            lines = add(list(page.lines), ways[0].module, ways[0].name)
            return _block(page, lines, 0.9)
    near = _nearest(page, name)
    if near is None:
        return None
    at = diagnostic.span.start.line
    line = page.lines[at]
    place = re.search(rf"\b{re.escape(name)}\b", line)
    return _line(at, line[: place.start()] + near + line[place.end() :], 0.7) if place else None


def _block(page: Page, lines: list[str], sure: float) -> Mended:
    """Return what differs between a page and its new lines."""
    top, most = 0, min(len(page.lines), len(lines))
    while top < most and page.lines[top] == lines[top]:
        top += 1
    tail = 0
    while tail < most - top and page.lines[~tail] == lines[~tail]:
        tail += 1
    return Mended(top, len(page.lines) - tail, lines[top : len(lines) - tail], sure)


def _nearest(page: Page, name: str) -> str | None:
    """Return the one known name that is a slip of the fingers away."""
    found = names(page)
    known = set(found.bound) | set(BUILTINS) if found else set(page.words)
    if found:
        known |= found.local
    near = [x for x in known if x != name and len(name) > 2 and _is_slip(name, x)]
    return near[0] if len(near) == 1 else None


def _is_slip(one: str, other: str) -> bool:
    """Return whether two words differ by one letter, or by two that are swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    at = 0
    while at < min(len(one), len(other)) and one[at] == other[at]:
        at += 1
    a, b = one[at:], other[at:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def put_at(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Put a mark where it is missed; at the end of the line before, if there it is missed."""
    at, column = diagnostic.span.start
    line = page.lines[at]
    if found["mark"] in ";:" or column >= len(line.rstrip()):
        return append(now, page, diagnostic, found)
    return _line(at, line[:column] + found["mark"] + line[column:], 0.8)


def append(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Put a mark at the end of a line."""
    at, mark = diagnostic.span.start.line, found["mark"]
    is_first = diagnostic.span.start.column <= len(indent(page.lines[at]))
    if is_first and at and page.lines[at].rstrip().endswith((mark, "}")):
        # What was missed is noticed at the next line.
        at -= 1
    line = page.lines[at].rstrip()
    if not line or line.endswith(mark):
        return None
    return _line(at, line + mark)


def close_bracket(
    now: Situation, page: Page, diagnostic: Diagnostic, found: re.Match[str]
) -> Mended | None:
    """Close a bracket at the end of its line."""
    at = diagnostic.span.start.line
    line = page.lines[at].rstrip()
    close = {"(": ")", "[": "]", "{": "}"}[found["mark"]]
    if line.endswith((",", found["mark"])):
        return None
    if line.endswith(":"):
        return _line(at, line[:-1] + close + ":", 0.8)
    return _line(at, line + close, 0.8)


Mend = Callable[[Situation, Page, Diagnostic, re.Match[str]], Mended | None]
MENDS: tuple[tuple[str, Mend], ...] = (
    (rf"(?:{_NAME}.{{0,300}}?)?{_MEANT}", replace_name),
    (rf"imported but unused.*|{_NAME} imported but unused", drop_import),
    (rf"Import {_NAME} is not accessed", drop_import),
    (rf"{_NAME} imported and not used", drop_import),
    (rf"unused imports?: {_NAME}", drop_import),
    (r"The import (?P<name>[\w.]+) is never used", drop_import),
    (r"Included header (?P<name>[\w./]+) is not used", drop_import),
    (rf"{_NAME} is declared but its value is never read", drop_import),
    (rf"{_NAME} is defined but never used", drop_import),
    (rf"unused variable: {_NAME}", underscore),
    (rf"local variable {_NAME} is assigned to but never used", drop_variable),
    (r"variable does not need to be mutable", drop_mut),
    (rf"undefined name {_NAME}", import_name),
    (rf"{_NAME} is not defined", import_name),
    (rf"Cannot find name {_NAME}", import_name),
    (rf"undefined: {_BARE}", import_name),
    (r"(?P<quote>['\"`])?(?P<mark>[;:,)\]}])(?(quote)(?P=quote)) expected", put_at),
    (r"expected (?P<quote>['\"`])(?P<mark>[;:])(?P=quote)", append),
    (r"(?P<quote>['\"`])(?P<mark>[(\[{])(?P=quote) was (?:never|not) closed", close_bracket),
    (r"expected (?P<quote>['\"`])(?P<mark>[)\]}])(?P=quote)", put_at),
)
_TABLE = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), mend) for pattern, mend in MENDS]
_ARGUMENTS = re.compile(
    r"missing \d+ required|expected \d+ arguments?|too (?:many|few) arguments"
    r"|not enough arguments|argument missing|takes \d+ positional",
    re.IGNORECASE,
)


def diagnostics(now: Situation) -> Iterator[Candidate]:
    """Yield a fix for each diagnostic that is understood, those near the cursor first."""
    ranked = sorted(
        now.diagnostics,
        key=lambda x: (x.uri != now.page.uri, abs(x.span.start.line - now.spot.line)),
    )
    for diagnostic in ranked[:_MOST]:
        page = now.pages.get(diagnostic.uri)
        if page is None or now.is_late() or diagnostic.span.start.line >= len(page.lines):
            continue
        mended = _mended(now, page, diagnostic)
        if mended is not None:
            yield _candidate(now, page, diagnostic, mended)
        elif _ARGUMENTS.search(diagnostic.message[:_LONGEST]):
            line = diagnostic.span.start.line
            found = Mended(line, line + 1, [page.lines[line]], 0.95)
            yield _candidate(now, page, diagnostic, found, is_sure=False)


def _mended(now: Situation, page: Page, diagnostic: Diagnostic) -> Mended | None:
    for pattern, mend in _TABLE:
        found = pattern.search(diagnostic.message[:_LONGEST])
        mended = mend(now, page, diagnostic, found) if found else None
        if mended is not None:
            return mended
    return None


def _candidate(
    now: Situation, page: Page, diagnostic: Diagnostic, mended: Mended, *, is_sure: bool = True
) -> Candidate:
    features = place(now, page, mended.start, mended.end)
    features["sure"] = mended.sure
    features["error"] = float(diagnostic.severity == "error")
    features["place_only"] = float(not is_sure)
    return Candidate(
        uri=page.uri,
        start=mended.start,
        end=mended.end,
        lines=mended.lines,
        rule="diagnostic",
        cause=diagnostic.message,
        features=features,
        is_sure=is_sure,
        column=diagnostic.span.start.column if not is_sure else None,
    )
