"""What a model may not propose: mere space, what was there before, its own marks, broken code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from pathlib import PurePosixPath

from parley._display_text import HIDDEN, class_of
from parley.nes.documents.differences import Difference
from parley.nes.documents.document import Document
from parley.nes.documents.ends import same_ends
from parley.nes.documents.paths import name_of
from parley.nes.syntax import language_of, parse

from .situation import Event

__all__ = ["breaks_syntax", "is_unlike", "leaks", "undoes", "without_space"]

_KEPT_AT_LEAST = 0.25
_PARSED_AROUND = 6000
"""So many characters above a change and below it are parsed with it."""
_MARGIN = re.compile(r"[^\s)\]}]")
_STRANGE = (
    re.compile(
        r"<\|/?[\w-]{1,40}\|>|<\uff5c[^\n>]{1,40}\uff5c>|<\[[\w\u2581-]{1,40}\]>"
        r"|<fim_\w{1,20}>|<(?:PRE|SUF|MID|EOT|[be]os|file_sep|repo_?name|(?:start|end)_of_turn)>"
        r"|</?think>|\[/?(?:INST|PREFIX|SUFFIX|MIDDLE)\]|<{7} CURRENT|>{7} UPDATED"
        r"|\A(?:(?!<s>)[\s\S])*?</s>"  # with the other one it is HTML
    ),
    re.compile(r"^(?:<{7}|\|{7}|>{7})(?: |$)", re.M),
    re.compile(
        rf"(?![\u200c\u200d\ufe0e\ufe0f])"  # ordinary in emoji and in some scripts
        rf"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff{class_of(HIDDEN)}]"
    ),
)
"""Tokens of models, marks of a merge conflict, characters that hide what is there."""


def without_space(found: Sequence[Difference]) -> list[Difference]:
    """Leave out what changes space only; indentation stays if something else is changed too."""
    real = [each for each in found if _bare(each.old) != _bare(each.new)]
    if not real:
        return []
    return [each for each in found if each in real or _is_indentation(each)]


def _bare(lines: Iterable[str]) -> str:
    return "".join("".join(lines).split())


def _is_indentation(difference: Difference) -> bool:
    pairs = zip(difference.old, difference.new, strict=False)
    return len(difference.old) == len(difference.new) and any(
        one.rstrip() != other.rstrip() and one.strip() for one, other in pairs
    )


def undoes(difference: Difference, events: Iterable[Event], uri: str) -> bool:
    """Return whether a difference takes back an edit of the user, or a part of one."""
    gone = _said(difference.old) - _said(difference.new)
    come = _said(difference.new) - _said(difference.old)
    if not gone and not come:
        return False
    return any(
        gone <= _said(event.after) - _said(event.before)
        and come <= _said(event.before) - _said(event.after)
        for event in events
        if event.uri == uri
    )


def _said(lines: Iterable[str]) -> set[str]:
    return {line.strip() for line in lines if line.strip()}


def is_unlike(old: str, found: Sequence[Difference]) -> bool:
    """Return whether so little is left of a window that the answer is about something else."""
    said = sum(bool(line.strip()) for line in old.split("\n"))
    changed = sum(bool(line.strip()) for each in found for line in each.old)
    return said >= 4 and said - changed < said * _KEPT_AT_LEAST


def leaks(old: str, new: str) -> bool:
    """Return whether a response adds special tokens, conflict markers or control characters.

    A text that has some of a sort already may get more of it.
    """
    return any(each.search(new) and not each.search(old) for each in _STRANGE)


def breaks_syntax(before: Document, after: Document) -> bool:
    """Return whether a document has more syntax errors than before; False if nobody knows.

    Only what is around the change is parsed: what a parser does with broken code takes a time that
    grows with the square of its length, and cannot be interrupted.
    """
    language = language_of(before.language_id, PurePosixPath(name_of(before.uri)).suffix)
    old, new = _excerpts(before.lines, after.lines)
    tree = parse("", language, new, keep=False)
    if tree is None or not (errors := tree.errors()):
        return False
    tree = parse("", language, old, keep=False)
    return tree is not None and errors > tree.errors()


def _excerpts(before: list[str], after: list[str]) -> tuple[str, str]:
    """Return what differs, with some lines around it that begin and end at the margin."""
    head, tail = same_ends(before, after)
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
    """Return how many lines are near enough."""
    sizes = accumulate(len(line) for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= _PARSED_AROUND, sizes))
