"""Edits that no engine proposes: mere space, what the user has just changed back, broken code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise, takewhile

from parley.nes._documents.ends import same_ends

from ._syntax import Tree, parse

_PARSED_AROUND = 6000
"""The characters above a change, and below it, that are parsed with it."""
_MARGIN = re.compile(r"[^\s)\]}]")
_HEAD = re.compile(
    r"\s*+(?:async\b|case\b|class\b|def\b|elif\b|else\b|except\b|finally\b|for\b|if\b|match\b"
    r"|try\b|while\b|with\b|[)\]}])[^#]*:\s*(?:#.*)?"
)
_COLON = re.compile(r":\s*(?:#.*)?$")


def changes_space_only(old: Iterable[str], new: Iterable[str]) -> bool:
    """Return whether lines differ from others in their space, or not at all."""
    return "".join("".join(old).split()) == "".join("".join(new).split())


def undoes(
    old: Sequence[str],
    new: Sequence[str],
    before: Sequence[str],
    after: Sequence[str],
    *,
    is_adjacent: bool = False,
) -> bool:
    """Return whether replacing lines takes back an edit of the user, or a part of it.

    Args:
        old: The lines to be replaced.
        new: The lines to replace them with.
        before: The lines that the user replaced.
        after: The lines that the user replaced them with.
        is_adjacent: Whether the edit touches the lines. Then lines that come back as they were
            count, whatever they replace.
    """
    if is_adjacent and before and new == before:
        return True
    gone = _content(old) - _content(new)
    come = _content(new) - _content(old)
    if not gone and not come:
        return False
    return gone <= _content(after) - _content(before) and come <= _content(before) - _content(after)


def _content(lines: Iterable[str]) -> set[str]:
    return {line.strip() for line in lines if line.strip()}


def breaks_file(
    name: str, language: str, tree: Tree, lines: Sequence[str], edit: tuple[int, int, Sequence[str]]
) -> bool:
    """Return whether a file whose tree is known has more syntax errors after an edit.

    Args:
        name: The name under which the tree is kept.
        language: The language of the file.
        tree: The tree of the file.
        lines: Its lines, without their ends.
        edit: The lines `start:end` that are replaced, and the lines to replace them with.
    """
    start, end, new = edit
    if language == "python" and _loses_block(lines, start, end, new):
        return True
    after = parse(name, language, "\n".join((*lines[:start], *new, *lines[end:])), keep=False)
    return after is not None and after.errors() > tree.errors()


def breaks_excerpt(language: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether a text has more syntax errors than before; False if that is not known.

    Only the surroundings of the change are parsed: the time that a parser needs for broken code
    grows with the square of its length, and a parse cannot be interrupted.

    Args:
        language: The language of the text.
        before: The lines, with their ends.
        after: The changed lines.
    """
    head, tail = same_ends(before, after)
    end = len(before) - tail
    if language == "python" and _loses_block(before, head, end, after[head : len(after) - tail]):
        return True
    old, new = _excerpts(before, after, (head, tail))
    tree = parse("", language, new, keep=False)
    if tree is None or not (errors := tree.errors()):
        return False
    tree = parse("", language, old, keep=False)
    return tree is not None and errors > tree.errors()


def _excerpts(
    before: Sequence[str], after: Sequence[str], same: tuple[int, int]
) -> tuple[str, str]:
    """Return what differs, with some lines around it that begin and end at the margin."""
    head, tail = same
    top, bottom = _reach(before[:head][::-1]), _reach(before[len(before) - tail :])
    above = before[head - top : head]
    below = before[len(before) - tail : len(before) - tail + bottom]
    if top < head:
        first = next((at for at, line in enumerate(above) if _MARGIN.match(line)), 0)
        above = above[first:]
    if bottom < tail:
        margins = (at for at in reversed(range(bottom)) if _MARGIN.match(below[at]))
        below = below[: next(margins, bottom)]
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    return "".join((*above, *old, *below)), "".join((*above, *new, *below))


def _reach(lines: Sequence[str]) -> int:
    """Return how many lines are near enough to be parsed with a change."""
    sizes = accumulate(len(line) for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= _PARSED_AROUND, sizes))


def _loses_block(lines: Sequence[str], start: int, end: int, replacement: Sequence[str]) -> bool:
    """Return whether a Python block loses its whole body, or its head: no grammar minds that."""
    above = next((x for x in reversed(lines[:start]) if _is_code(x)), "")
    below = next((x for x in lines[end:] if _is_code(x)), "")
    old = [above, *filter(_is_code, lines[start:end]), below]
    new = [above, *filter(_is_code, replacement), below]
    if _count_empty(new) > _count_empty(old):
        return True
    had_head = _is_head(old[-2]) and _is_deeper(below, old[-2])
    has_head = _COLON.search(new[-2].rstrip()) is not None and _is_deeper(below, new[-2])
    return had_head and not has_head


def _count_empty(lines: list[str]) -> int:
    """Count the heads of blocks without a body."""
    return sum(_is_head(one) and not _is_deeper(other, one) for one, other in pairwise(lines))


def _is_head(line: str) -> bool:
    return _HEAD.fullmatch(line.rstrip()) is not None


def _is_deeper(one: str, other: str) -> bool:
    return len(one) - len(one.lstrip()) > len(other) - len(other.lstrip())


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
