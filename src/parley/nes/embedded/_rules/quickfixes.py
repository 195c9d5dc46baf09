"""Fixes for diagnostics, recognised by their messages: the protocol carries no codes.

The messages are those of pyflakes, ruff, pyright, mypy, tsc, rustc, gopls, clangd and Java's tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._python.imports import add, remove, statements
from parley.nes.embedded._python.modules import sources
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._tokens import indent, word_at
from parley.nes.engine import Diagnostic

_MOST = 8
_LONGEST = 1_000
"""The characters of a message that are read."""
_Q = "['\"`\u2018\u2019]"
_NAME = rf"{_Q}(?P<name>[\w.:\s]+?){_Q}"
_BARE = rf"{_Q}?(?P<name>\w+){_Q}?"
_MEANT = rf"(?:did you mean|maybe|similar name exists)[: ]*(?:to write )?{_Q}(?P<meant>[\w.]+){_Q}"
_QUOTED = re.compile("(?<=['\"`\u2018])\\w+(?=['\"`\u2019])")
_WORD = re.compile(r"\w+")


class QuickFix(NamedTuple):
    """Lines `start:end` become other lines."""

    start: int
    end: int
    lines: list[str]
    sure: float


def _line(line: int, text: str, sure: float = 1.0) -> QuickFix:
    return QuickFix(line, line + 1, [text], sure)


def _word(file: SourceFile, diagnostic: Diagnostic) -> tuple[int, int]:
    """Return where the word is that a diagnostic is about."""
    line = file.lines[diagnostic.span.start.line]
    return word_at(line, min(diagnostic.span.start.column, len(line)))


def replace_name(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Write the name that was meant."""
    at, meant = diagnostic.span.start.line, found["meant"]
    line = file.lines[at]
    named = _QUOTED.findall(found.string, 0, found.start("meant"))
    start, end = _misspelt(line, diagnostic, named, meant) if named else _word(file, diagnostic)
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
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Take an import away, or the name in it."""
    at = diagnostic.span.start.line
    line = file.lines[at]
    name = re.split(r"\s+as\s+", found.groupdict().get("name") or "")[-1]
    if file.language == "python":
        return _drop_python(file, at, re.split(r"\.", name)[-1] if name else "", name)
    if file.language in ("javascript", "typescript", "tsx"):
        return _drop_specifier(file, at, name)
    if re.match(r"\s*(import|use|#\s*include)\b|\s*\"", line):
        return QuickFix(at, at + 1, [], 1.0)
    return None


def _drop_python(file: SourceFile, at: int, last: str, whole: str) -> QuickFix | None:
    for statement in statements(file.text):
        if not statement.start <= at < statement.end:
            continue
        here = {name[1] for name in statement.names}
        name = next((x for x in (whole, last, whole.split(".")[0]) if x in here), "")
        if not name and len(here) == 1:
            name = next(iter(here))
        if name:
            lines = remove(file.lines, statement, name)
            return _block(file, lines, 1.0) if lines != file.lines else None
    return None


def _drop_specifier(file: SourceFile, at: int, name: str) -> QuickFix | None:
    line = file.lines[at]
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
            return QuickFix(at, at + 1, [], 1.0)
        return None
    return QuickFix(at, at + 1, [], 1.0) if re.search(rf"\b{re.escape(name)}\b", line) else None


def underscore(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Mark a variable as unused."""
    at, line = diagnostic.span.start.line, file.lines[diagnostic.span.start.line]
    place = re.search(rf"\b{re.escape(found['name'])}\b", line)
    if place is None:
        return None
    return _line(at, f"{line[: place.start()]}_{line[place.start() :]}")


def drop_variable(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Take an assignment away; what is called stays."""
    at, line = diagnostic.span.start.line, file.lines[diagnostic.span.start.line]
    parts = re.fullmatch(rf"(\s*){re.escape(found['name'])}\s*(?::[^=]+)?=\s*([^=].*)", line)
    if parts is None:
        return None
    if "(" in parts[2]:
        return _line(at, parts[1] + parts[2], 0.7)
    return QuickFix(at, at + 1, [], 0.8)


def drop_mut(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Take `mut` away."""
    at, line = diagnostic.span.start.line, file.lines[diagnostic.span.start.line]
    fresh = re.sub(r"\bmut\s+", "", line, count=1)
    return _line(at, fresh) if fresh != line else None


def import_name(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Import a name, or write the one that is nearly the same."""
    name = found["name"]
    if file.language == "python":
        known = context.names(file)
        if known is not None and name in known.bound:
            return None  # it was written since
        ways = sources(context, file, name)
        if ways:
            lines = add(list(file.lines), ways[0].module, ways[0].name)
            return _block(file, lines, 0.9)
    near = _nearest(context, file, name)
    if near is None:
        return None
    at = diagnostic.span.start.line
    line = file.lines[at]
    place = re.search(rf"\b{re.escape(name)}\b", line)
    return _line(at, line[: place.start()] + near + line[place.end() :], 0.7) if place else None


def _block(file: SourceFile, lines: list[str], sure: float) -> QuickFix:
    """Return what differs between a file and its new lines."""
    top, most = 0, min(len(file.lines), len(lines))
    while top < most and file.lines[top] == lines[top]:
        top += 1
    tail = 0
    while tail < most - top and file.lines[~tail] == lines[~tail]:
        tail += 1
    return QuickFix(top, len(file.lines) - tail, lines[top : len(lines) - tail], sure)


def _nearest(context: EditContext, file: SourceFile, name: str) -> str | None:
    """Return the one known name that is a slip of the fingers away."""
    found = context.names(file)
    known = set(found.bound) | set(BUILTINS) if found else set(file.words)
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
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Put a mark where it is missed; at the end of the line before, if there it is missed."""
    at, column = diagnostic.span.start
    line = file.lines[at]
    if found["mark"] in ";:" or column >= len(line.rstrip()):
        return append(context, file, diagnostic, found)
    return _line(at, line[:column] + found["mark"] + line[column:], 0.8)


def append(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Put a mark at the end of a line."""
    at, mark = diagnostic.span.start.line, found["mark"]
    is_first = diagnostic.span.start.column <= len(indent(file.lines[at]))
    if is_first and at and file.lines[at].rstrip().endswith((mark, "}")):
        # What was missed is noticed at the next line.
        at -= 1
    line = file.lines[at].rstrip()
    if not line or line.endswith(mark):
        return None
    return _line(at, line + mark)


def close_bracket(
    context: EditContext, file: SourceFile, diagnostic: Diagnostic, found: re.Match[str]
) -> QuickFix | None:
    """Close a bracket at the end of its line."""
    at = diagnostic.span.start.line
    line = file.lines[at].rstrip()
    close = {"(": ")", "[": "]", "{": "}"}[found["mark"]]
    if line.endswith((",", found["mark"])):
        return None
    if line.endswith(":"):
        return _line(at, line[:-1] + close + ":", 0.8)
    return _line(at, line + close, 0.8)


Fix = Callable[[EditContext, SourceFile, Diagnostic, re.Match[str]], QuickFix | None]
QUICK_FIXES: tuple[tuple[str, Fix], ...] = (
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
_TABLE = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), find_fix) for pattern, find_fix in QUICK_FIXES
]
_ARGUMENTS = re.compile(
    r"missing \d+ required|expected \d+ arguments?|too (?:many|few) arguments"
    r"|not enough arguments|argument missing|takes \d+ positional",
    re.IGNORECASE,
)


def quickfixes(context: EditContext) -> Iterator[Candidate]:
    """Yield a fix for each diagnostic that is understood, those near the cursor first."""
    ranked = sorted(
        context.diagnostics,
        key=lambda x: (x.uri != context.file.uri, abs(x.span.start.line - context.spot.line)),
    )
    for diagnostic in ranked[:_MOST]:
        file = context.files.get(diagnostic.uri)
        if file is None or context.is_late() or diagnostic.span.start.line >= len(file.lines):
            continue
        fix = _fix_of(context, file, diagnostic)
        if fix is not None:
            yield _candidate(context, file, diagnostic, fix)
        elif _ARGUMENTS.search(diagnostic.message[:_LONGEST]):
            line = diagnostic.span.start.line
            found = QuickFix(line, line + 1, [file.lines[line]], 0.95)
            yield _candidate(context, file, diagnostic, found, is_sure=False)


def _fix_of(context: EditContext, file: SourceFile, diagnostic: Diagnostic) -> QuickFix | None:
    for pattern, find_fix in _TABLE:
        found = pattern.search(diagnostic.message[:_LONGEST])
        fix = find_fix(context, file, diagnostic, found) if found else None
        if fix is not None:
            return fix
    return None


def _candidate(
    context: EditContext,
    file: SourceFile,
    diagnostic: Diagnostic,
    fix: QuickFix,
    *,
    is_sure: bool = True,
) -> Candidate:
    features = location_features(context, file, fix.start, fix.end)
    features["sure"] = fix.sure
    features["error"] = float(diagnostic.severity == "error")
    features["place_only"] = float(not is_sure)
    return Candidate(
        uri=file.uri,
        start=fix.start,
        end=fix.end,
        lines=fix.lines,
        rule="diagnostic",
        cause=diagnostic.message,
        features=features,
        is_sure=is_sure,
        column=diagnostic.span.start.column if not is_sure else None,
    )
