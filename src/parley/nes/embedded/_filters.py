"""What is never proposed, however likely it seems."""

from __future__ import annotations

import re
from itertools import pairwise

from parley.nes.syntax import parse

from ._context import Candidate, Situation
from ._source import Page
from ._tokens import indent

_HEAD = re.compile(
    r"\s*+(?:async\b|case\b|class\b|def\b|elif\b|else\b|except\b|finally\b|for\b|if\b|match\b"
    r"|try\b|while\b|with\b|[)\]}])[^#]*:\s*(?:#.*)?"
)
_COLON = re.compile(r":\s*(?:#.*)?$")


def is_vetoed(now: Situation, candidate: Candidate, page: Page) -> bool:
    """Return whether a candidate does nothing, undoes something or touches what was edited."""
    old = page.lines[candidate.start : candidate.end]
    if not candidate.is_sure:
        return now.is_edited(page.uri, candidate.start, candidate.end)
    if "".join("".join(old).split()) == "".join("".join(candidate.lines).split()):
        return True
    if candidate.goes_on:
        return False
    return now.is_edited(page.uri, candidate.start, candidate.end) or _undoes(now, candidate)


def _undoes(now: Situation, candidate: Candidate) -> bool:
    """Return whether lines would come back that were taken away beside this place."""
    for hunk in now.touched.get(candidate.uri, ()):
        beside = candidate.start <= hunk.end and hunk.start <= candidate.end
        if beside and hunk.old and candidate.lines == hunk.old:
            return True
    return False


def breaks(candidate: Candidate, page: Page) -> bool:
    """Return whether a file has more syntax errors with a candidate than without."""
    if page.tree is None or not candidate.is_sure:
        return False
    if page.language == "python" and _empties(candidate, page):
        return True
    lines = page.lines[: candidate.start] + candidate.lines + page.lines[candidate.end :]
    tree = parse(page.uri, page.language, "\n".join(lines), keep=False)
    return tree is not None and tree.errors() > page.tree.errors()


def _empties(candidate: Candidate, page: Page) -> bool:
    """Return whether a Python block loses all that is in it, or its head: no grammar minds that."""
    start, end = candidate.start, candidate.end
    above = next((x for x in reversed(page.lines[:start]) if _is_code(x)), "")
    below = next((x for x in page.lines[end:] if _is_code(x)), "")
    old = [above, *filter(_is_code, page.lines[start:end]), below]
    new = [above, *filter(_is_code, candidate.lines), below]
    if _hollow(new) > _hollow(old):
        return True
    had_head = _HEAD.fullmatch(old[-2]) is not None and _is_deeper(below, old[-2])
    has_head = _COLON.search(new[-2]) is not None and _is_deeper(below, new[-2])
    return had_head and not has_head


def _hollow(lines: list[str]) -> int:
    """Count the heads of blocks with nothing in them."""
    return sum(
        _HEAD.fullmatch(one) is not None and not _is_deeper(other, one)
        for one, other in pairwise(lines)
    )


def _is_deeper(one: str, other: str) -> bool:
    return len(indent(one)) > len(indent(other))


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
