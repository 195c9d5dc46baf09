"""Patterns have their usual meaning, and none takes long to evaluate."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.session._patterns import MAX_DEPTH, MAX_PATTERN, Pattern


@pytest.mark.parametrize(
    ("source", "fits", "does_not"),
    [
        ("", "", None),
        ("^[A-Z]{2}-\\d{3,5}$", "AB-1234", "AB-12"),
        ("b+", "abc", "ac"),
        ("^a?b*?$", "abb", "ba"),
        ("^(?:ab|c(?<x>d))+$", "abcd", "abc"),
        ("^(a|b|)$", "", "c"),
        ("^\\w+@\\w+\\.(org|net)$", "ada@example.org", "ada@example.com"),
        ("^\\S\\D\\W\\s$", "aa- ", "a1- "),
        ("\\bcat\\b", "a cat!", "concat"),
        ("\\Bcat", "concat", "cat"),
        ("^[^\\d_-]+$", "abc", "a-b"),
        ("^[\\b\\t\\]a-c]$", "]", "d"),
        ("^[a-cb-de]+$", "abcde", "f"),
        ("^.$", "ä", "\n"),
        ("^\\x41\\u00e4\\n\\/\\.$", "Aä\n/.", "Aä\n/x"),
        ("^a{2}b{1,}c{0,1}$", "aabbc", "abb"),
        ("^\\s$", "\ufeff", "x"),
    ],
)
def test_a_pattern_fits_some_texts_and_others_not(
    source: str, fits: str, does_not: str | None
) -> None:
    pattern = Pattern(source)
    assert pattern.is_found_in(fits)
    assert does_not is None or not pattern.is_found_in(does_not)


@pytest.mark.parametrize(
    "source",
    [
        *("(?=a)", "(?!a)", "(?<=a)", "(a)\\1", "\\p{L}", "\\cA", "\\u12", "\\xZZ"),
        *("(", ")", "a)", "[a", "\\", "*", "a**", "{2}", "a{3,2}", "[z-a]", "[\\d-z]", "[a-\\d]"),
        "(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1),
        "a" * (MAX_PATTERN + 1),
        "a" * (MAX_PATTERN - 1),
        "((a{99}){99}){99}",
    ],
)
def test_what_cannot_be_evaluated_is_said(source: str) -> None:
    with pytest.raises(ValueError, match="the pattern cannot be evaluated: "):
        Pattern(source)


@pytest.mark.requirement("V1-ELIC-18", "V2-ELIC-07")
@pytest.mark.parametrize(
    "source", ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "(a+a+)+!b", "^a{0,400}a{0,400}$"]
)
def test_a_pattern_made_to_take_for_ever_does_not(source: str) -> None:
    assert not Pattern(source).is_found_in("b" + "a" * 100_000 + "!")


ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "[\\d-]", "\\d", "\\w", "\\s", "(a|b)", "(?:ab)", "()"]
)
REPEATED = st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?"])
PLACES = st.sampled_from(["\\b", "^", "$"])
PIECES = st.lists(st.tuples(ATOMS, REPEATED).map("".join) | PLACES, max_size=5).map("".join)


@given(st.lists(PIECES, min_size=1, max_size=3).map("|".join), st.text("ab1 -", max_size=8))
def test_a_pattern_means_what_it_means_to_others(source: str, text: str) -> None:
    assert Pattern(source).is_found_in(text) == (re.search(source, text) is not None)
