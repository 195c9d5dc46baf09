from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.ends import same_ends, same_head, same_tail


@pytest.mark.parametrize(
    ("one", "other", "ends"),
    [
        ("", "", (0, 0)),
        ("abc", "abc", (3, 0)),
        ("abc", "axc", (1, 1)),
        ("aa", "aaa", (2, 0)),
        ("xaa", "yaaa", (0, 2)),
        (["a", "b"], ["a", "c", "b"], (1, 1)),
    ],
)
def test_ends_never_overlap(one: list[str], other: list[str], ends: tuple[int, int]) -> None:
    assert same_ends(one, other) == ends


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_what_is_the_same_is_found_and_nothing_more(one: str, other: str) -> None:
    head, tail = same_head(one, other), same_tail(one, other)
    assert one[:head] == other[:head]
    assert one[: head + 1] != other[: head + 1] or head == min(len(one), len(other))
    assert one[len(one) - tail :] == other[len(other) - tail :]
    assert tail == same_head(one[::-1], other[::-1])
    start, end = same_ends(one, other)
    assert start == head
    assert end == same_tail(one[head:], other[head:])
