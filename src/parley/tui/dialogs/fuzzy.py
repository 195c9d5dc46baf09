"""Finding by a few letters.

Each word that was typed must be in a text: as it is, or its letters in their order. Time grows only
with the length of both, whatever an agent writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["best", "rank"]

_BEGINS, _WORD, _INSIDE, _LETTERS = range(4)


def rank(words: Sequence[str], text: str) -> int | None:
    """Tell how well a text fits, 0 best; None: not at all. Both are casefolded."""
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


def best(typed: str, texts: Iterable[str]) -> list[int]:
    """Return the numbers of the texts that fit what was typed, the best first."""
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
