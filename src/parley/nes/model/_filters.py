"""The filters of what a model rewrites: those of both engines, and those for a model's slips."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from parley._display_text import HIDDEN, class_of
from parley.nes._documents.differences import Difference
from parley.nes._documents.document import Document
from parley.nes._documents.paths import name_of
from parley.nes._filters import breaks_excerpt, changes_space_only, undoes
from parley.nes._syntax import language_of

from ._situation import Event

_KEPT_AT_LEAST = 0.25
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
    real = [each for each in found if not changes_space_only(each.old, each.new)]
    if not real:
        return []
    return [each for each in found if each in real or _is_indentation(each)]


def _is_indentation(difference: Difference) -> bool:
    pairs = zip(difference.old, difference.new, strict=False)
    return len(difference.old) == len(difference.new) and any(
        one.rstrip() != other.rstrip() and one.strip() for one, other in pairs
    )


def undoes_edit(difference: Difference, events: Iterable[Event], uri: str) -> bool:
    """Return whether a difference takes back an edit of the user, or a part of one."""
    return any(
        undoes(difference.old, difference.new, event.before, event.after)
        for event in events
        if event.uri == uri
    )


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
    """Return whether a document has more syntax errors than before; False if that is not known."""
    language = language_of(before.language_id, PurePosixPath(name_of(before.uri)).suffix)
    return breaks_excerpt(language, before.lines, after.lines)
