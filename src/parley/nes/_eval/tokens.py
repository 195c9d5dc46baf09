"""Distances between texts and costs of typing them, counted in tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from parley.nes._documents.ends import same_head, same_tail

_TOKEN = re.compile(r"\n[ \t]*|\w+|[^\w\s]")
MAX_TOKENS = 40_000


def tokens(lines: Sequence[str]) -> list[str]:
    """Return words, signs, and line ends with the indentation after them; no other blanks."""
    return _TOKEN.findall("\n" + "".join(lines).replace("\r\n", "\n"))


def is_between(one: Sequence[str], middle: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether a text lies on a shortest way from one text to another, and is not the first.

    Then that way keeps every token that was changed to come to it.
    """
    parts = _differing(one, middle, other)
    a, b, c = (tokens(each) for each in parts)
    if a == b or max(map(len, (a, b, c))) > MAX_TOKENS:
        return False
    return _distance(a, c) == _distance(a, b) + _distance(b, c)


def _differing(*texts: Sequence[str]) -> list[list[str]]:
    """Return the lines between what all texts have in common at their begin and end."""
    first, *others = map(list, texts)
    top = min(same_head(first, each) for each in others)
    tail = min(same_tail(first[top:], each[top:]) for each in others)
    return [each[top : len(each) - tail] for each in (first, *others)]


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens have to go and to come."""
    return len(one) + len(other) - 2 * _common(one, other)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, all columns of it in one number.

    A bit of `row` is 0 where the length grows; each token of the other text makes a new row.
    """
    if not one or not other:
        return 0
    places: dict[str, int] = {}
    for at, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << at
    full = (1 << len(one)) - 1
    row = full
    for token in other:
        if found := row & places.get(token, 0):
            row = (row + found | row - found) & full
    return len(one) - row.bit_count()


def keystrokes(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many keys it takes: one for each character, and one to delete a token."""
    a, b = (tokens(each) for each in _differing(old, new))
    count = 0
    for what, a_start, a_end, b_start, b_end in SequenceMatcher(None, a, b, False).get_opcodes():
        if what != "equal":
            count += a_end - a_start + sum(map(len, b[b_start:b_end]))
    return count
