"""What is never proposed, however likely it seems."""

from __future__ import annotations

import re
from itertools import pairwise

from parley.nes.syntax import parse

from ._context import Candidate, EditContext
from ._source import SourceFile
from ._tokens import indent

_HEAD = re.compile(
    r"\s*+(?:async\b|case\b|class\b|def\b|elif\b|else\b|except\b|finally\b|for\b|if\b|match\b"
    r"|try\b|while\b|with\b|[)\]}])[^#]*:\s*(?:#.*)?"
)
_COLON = re.compile(r":\s*(?:#.*)?$")


def is_vetoed(context: EditContext, candidate: Candidate, file: SourceFile) -> bool:
    """Return whether a candidate does nothing, undoes something or touches what was edited."""
    old = file.lines[candidate.start : candidate.end]
    if not candidate.is_sure:
        return context.is_edited(file.uri, candidate.start, candidate.end)
    if "".join("".join(old).split()) == "".join("".join(candidate.lines).split()):
        return True
    if candidate.goes_on:
        return False
    return context.is_edited(file.uri, candidate.start, candidate.end) or _undoes(
        context, candidate
    )


def _undoes(context: EditContext, candidate: Candidate) -> bool:
    """Return whether lines would come back that were taken away beside this place."""
    for hunk in context.touched.get(candidate.uri, ()):
        beside = candidate.start <= hunk.end and hunk.start <= candidate.end
        if beside and hunk.old and candidate.lines == hunk.old:
            return True
    return False


def breaks(candidate: Candidate, file: SourceFile) -> bool:
    """Return whether a file has more syntax errors with a candidate than without."""
    if file.tree is None or not candidate.is_sure:
        return False
    if file.language == "python" and _empties(candidate, file):
        return True
    lines = file.lines[: candidate.start] + candidate.lines + file.lines[candidate.end :]
    tree = parse(file.uri, file.language, "\n".join(lines), keep=False)
    return tree is not None and tree.errors() > file.tree.errors()


def _empties(candidate: Candidate, file: SourceFile) -> bool:
    """Return whether a Python block loses all that is in it, or its head: no grammar minds that."""
    start, end = candidate.start, candidate.end
    above = next((x for x in reversed(file.lines[:start]) if _is_code(x)), "")
    below = next((x for x in file.lines[end:] if _is_code(x)), "")
    old = [above, *filter(_is_code, file.lines[start:end]), below]
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
