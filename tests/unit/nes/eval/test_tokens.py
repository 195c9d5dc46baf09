from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._eval.tokens import is_between, keystrokes, tokens

WORDS = st.lists(st.sampled_from(["a", "b", "c", "(", "\n"]), max_size=9).map(" ".join)


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    @cache
    def rest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        if one[i] == other[j]:
            return rest(i + 1, j + 1)
        return 1 + min(rest(i + 1, j), rest(i, j + 1))

    return rest(0, 0)


@given(WORDS, WORDS, WORDS)
def test_what_is_between_adds_nothing_to_the_way(one: str, middle: str, other: str) -> None:
    a, b, c = (tokens([each]) for each in (one, middle, other))
    expected = a != b and _distance(a, c) == _distance(a, b) + _distance(b, c)
    assert is_between([one], [middle], [other]) == expected


@pytest.mark.parametrize(
    ("middle", "is_kept"),
    [
        ("call(one, two)\nrest\n", True),
        ("call(one, two, three)\nrest\n", True),
        ("call(one, three, two)\nrest\n", False),
        ("call(one, four)\nrest\n", False),
        ("call(one)\nrest\n", False),
        ("call( one )\nrest\n", False),
        ("  call(one, two)\nrest\n", False),
    ],
)
def test_a_step_is_kept_by_whoever_goes_on(middle: str, is_kept: bool) -> None:
    lines = [
        each.splitlines(keepends=True)
        for each in ("call(one)\nrest\n", middle, "call(one, two, three)\nrest\n")
    ]
    assert is_between(*lines) is is_kept


def test_keys_are_characters_to_type_and_tokens_to_delete() -> None:
    assert keystrokes(["a = old(1)\n"], ["a = newer(1)\n"]) == 1 + len("newer")
    assert keystrokes(["a\n"], ["a\n"]) == 0
    assert keystrokes([], ["ab\n"]) == len("\nab")
    assert keystrokes(["a\n", "b c\n"], ["a\n"]) == 3
