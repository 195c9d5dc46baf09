"""The common beginning and end of two texts, or of two lists of lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def same_head(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how much is the same at the beginning."""
    return _longest(min(len(one), len(other)), lambda low, high: one[low:high] == other[low:high])


def same_tail(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how much is the same at the end."""
    return _tail(one, other, min(len(one), len(other)))


def same_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return how much is the same at the beginning, and how much of the rest at the end."""
    head = same_head(one, other)
    return head, _tail(one, other, min(len(one), len(other)) - head)


def _tail(one: Sequence[object], other: Sequence[object], most: int) -> int:
    end, other_end = len(one), len(other)
    return _longest(
        most,
        lambda low, high: one[end - high : end - low] == other[other_end - high : other_end - low],
    )


def _longest(most: int, is_same: Callable[[int, int], bool]) -> int:
    """Return how far two things agree, by halving: whole pieces are compared fast."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
