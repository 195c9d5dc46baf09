"""The features that rules declare, the coefficients, and what the rules produce."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import parley.nes.embedded
from parley.nes.embedded._coefficients import EXACT, PLACE, STEP
from parley.nes.embedded._context import Candidate
from parley.nes.embedded._features import FEATURES, WITHOUT_COEFFICIENT
from parley.nes.embedded._scoring import BY_HAND, at_place, rate

TABLES = (STEP, EXACT, PLACE, BY_HAND)
AGREEMENT = "also_"
SOURCE = Path(parley.nes.embedded.__file__).parent
TABLE_MODULES = {"_coefficients.py", "_features.py", "_scoring.py"}


def weighted(rule: str) -> set[str]:
    """Return the features of a rule that have a coefficient."""
    return {name for table in TABLES for name in table.get(rule, ())} - {"bias"}


def candidate(rule: str, *, is_sure: bool = True, **features: float) -> Candidate:
    return Candidate(
        uri="file:///a.py",
        start=0,
        end=1,
        lines=["x"],
        rule=rule,
        cause="x",
        features=features,
        is_sure=is_sure,
    )


def literals() -> tuple[set[str], set[str]]:
    """Return the texts in the source of the rules, and those that an f-string begins with."""
    whole, begun = set[str](), set[str]()
    for path in SOURCE.rglob("*.py"):
        for node in () if path.name in TABLE_MODULES else ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                begun.add(str(node.values[0].value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg is not None:
                whole.add(node.arg)
    return whole, {each for each in begun if len(each) > 3}


def test_every_rule_with_coefficients_declares_its_features() -> None:
    assert {rule for table in TABLES for rule in table} == FEATURES.keys()


def test_every_coefficient_belongs_to_a_declared_feature() -> None:
    unknown = {
        (rule, name)
        for rule in FEATURES
        for name in weighted(rule)
        if name.removeprefix(AGREEMENT) not in FEATURES and name not in FEATURES[rule]
    }
    assert unknown == set()


def test_every_declared_feature_has_a_coefficient_or_is_listed_as_without() -> None:
    for rule, declared in FEATURES.items():
        assert declared - weighted(rule) == WITHOUT_COEFFICIENT.get(rule, frozenset()), rule


def test_every_declared_feature_is_produced_somewhere() -> None:
    whole, begun = literals()
    names = {name for declared in FEATURES.values() for name in declared}
    prefixes = tuple(begun)
    assert {each for each in names if each not in whole and not each.startswith(prefixes)} == set()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_feature_that_is_not_declared_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="'repeat' does not declare the feature 'nearer'"):
        rate(candidate("repeat", nearer=value))
    with pytest.raises(ValueError, match="'leftover' does not declare the feature 'nearer'"):
        at_place(candidate("leftover", is_sure=False, nearer=value))


def test_a_rule_that_declares_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'guess' declares no features"):
        rate(candidate("guess", near=1.0))


def test_a_feature_without_a_coefficient_changes_nothing() -> None:
    assert rate(candidate("pair", same_file=1.0)) == rate(candidate("pair"))


def test_any_rule_may_agree_with_another_one() -> None:
    assert rate(candidate("pair", also_repeat=1.0)) == rate(candidate("pair"))
