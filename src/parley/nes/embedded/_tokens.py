"""Lines as tokens, how alike two of them are, and what turns one into the other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

_LONG, _LONG_WORD = 8_000, 200
_MOST_COMPARED = 400_000
_MOST_MATCHES = 40_000
_TOKEN = re.compile(r"\w+|[ \t]+|\n|[^\w \t\n]")
_WORD = re.compile(r"[^\W\d]\w*")


class Op(NamedTuple):
    """Tokens `i1:i2` of one list become tokens `j1:j2` of another one."""

    i1: int
    i2: int
    j1: int
    j2: int


def tokens(text: str) -> tuple[str, ...]:
    """Split a text into words, runs of blanks, and single marks; nothing is lost.

    A very long text is one token: nobody compares such.
    """
    return (text,) if len(text) > _LONG else _tokens(text)


@lru_cache(maxsize=8_000)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


def words(text: str) -> list[str]:
    """Return the identifiers of a text, keywords and words of strings included."""
    return _WORD.findall(text)


def is_word(token: str) -> bool:
    """Return whether a token is an identifier."""
    if token.isascii():
        return token.isidentifier() and len(token) < _LONG_WORD
    return len(token) < _LONG_WORD and _WORD.fullmatch(token) is not None


def indent(line: str) -> str:
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items two lists have in common, in order."""
    places: dict[str, int] = {}
    for i, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(one)) - 1
    row = full
    for token in other:
        match = row & places.get(token, 0)
        row = (row + match | row - match) & full
    return len(one) - row.bit_count()


def alike(one: str, other: str) -> float:
    """Return how alike two texts are, from 0 to 1, by the tokens that are not blank."""
    if one == other:
        return 1.0
    return 0.0 if max(len(one), len(other)) > _LONG else _alike(one, other)


@lru_cache(maxsize=8_000)
def _alike(one: str, other: str) -> float:
    a = [token for token in tokens(one) if not token.isspace()]
    b = [token for token in tokens(other) if not token.isspace()]
    if not a or not b:
        return float(not a and not b)
    return 2 * common(a, b) / (len(a) + len(b))


@lru_cache(maxsize=2_000)
def operations(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[Op, ...]:
    """Return what must change to turn one list of tokens into the other."""
    if len(one) * len(other) > _MOST_MATCHES and _is_long(one, other):
        return _middle(one, other)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return tuple(Op(*code[1:]) for code in matcher.get_opcodes() if code[0] != "equal")


def _is_long(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether there are too many tokens, or too many that are the same, to compare all."""
    if len(one) * len(other) > _MOST_COMPARED:
        return True
    counts = Counter(other)
    return sum(counts[token] for token in one) > _MOST_MATCHES


def _middle(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[Op, ...]:
    """Return all that differs between two long lists as one operation."""
    most, top, tail = min(len(one), len(other)), 0, 0
    while top < most and one[top] == other[top]:
        top += 1
    while tail < most - top and one[~tail] == other[~tail]:
        tail += 1
    found = Op(top, len(one) - tail, top, len(other) - tail)
    return () if one == other else (found,)


def word_at(line: str, column: int) -> tuple[int, int]:
    """Return where the word around a column begins and ends; both are the column outside one."""
    start = end = column = min(column, len(line))
    while start > max(0, column - _LONG_WORD) and is_part(line[start - 1]):
        start -= 1
    while end < min(len(line), column + _LONG_WORD) and is_part(line[end]):
        end += 1
    return start, end


def is_part(character: str) -> bool:
    """Return whether a character belongs to a word."""
    return character.isalnum() or character == "_"
