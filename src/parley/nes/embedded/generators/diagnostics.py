"""Fixes for diagnostics, recognised by their messages: the protocol carries no codes.

The messages are those of pyflakes, ruff, pyright, mypy, tsc, rustc, gopls, clangd and Java's tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from parley.nes.embedded.candidate import Candidate
from parley.nes.embedded.features import place
from parley.nes.embedded.mending import (
    Mended,
    append,
    close_bracket,
    drop_import,
    drop_mut,
    drop_variable,
    import_name,
    put_at,
    replace_name,
    underscore,
)
from parley.nes.embedded.page import Page
from parley.nes.embedded.situation import Situation
from parley.nes.engine import Diagnostic

__all__ = ["diagnostics"]

_MOST = 8
_LONGEST = 1_000
"""What is behind so many characters of a message is not read."""
Mend = Callable[[Situation, Page, Diagnostic, re.Match[str]], Mended | None]
_Q = "['\"`\u2018\u2019]"
_NAME = rf"{_Q}(?P<name>[\w.:\s]+?){_Q}"
_BARE = rf"{_Q}?(?P<name>\w+){_Q}?"
_MEANT = rf"(?:did you mean|maybe|similar name exists)[: ]*(?:to write )?{_Q}(?P<meant>[\w.]+){_Q}"
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
