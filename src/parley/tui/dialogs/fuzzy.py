"""Fuzzy search for lists and the palette.

Each typed word must be in a text, either as it is or as letters in the same order. The time is
linear in the lengths of both, for any text of an agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["best_matches", "rank"]

_BEGINS, _WORD, _INSIDE, _LETTERS = range(4)


def rank(words: Sequence[str], text: str) -> int | None:
    """Return how well a text matches, 0 for best; None if it does not. Both are casefolded."""
    total = 0
    for word in words:
        at = text.find(word)
        if at == 0:
            total += _BEGINS
        elif at > 0:
            is_word = not text[at - 1].isalnum() or f" {word}" in text
            total += _WORD if is_word else _INSIDE
        elif _has_letters(word, text):
            total += _LETTERS
        else:
            return None
    return total


def best_matches(typed: str, texts: Iterable[str]) -> list[int]:
    """Return the indexes of the matching texts, the best first."""
    words = typed.casefold().split()
    ranked: list[tuple[int, int]] = []
    for number, text in enumerate(texts):
        fit = rank(words, text)
        if fit is not None:
            ranked.append((fit, number))
    return [number for _, number in sorted(ranked)]


def _has_letters(word: str, text: str) -> bool:
    at = -1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return False
    return True
