"""The scores of candidates: logistic, with a table of coefficients for each rule.

Three things are estimated of a change: that it is kept, that nothing is left to do at its place,
and that this is a place where something is to be done. The editor gets the first. What a
candidate is worth follows from the others; the place counts more, because it is known better.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import exp

from ._coefficients import EXACT, PLACE, STEP
from ._context import Candidate
from ._features import declared_features

THRESHOLDS = {"quiet": 0.84, "default": 0.55, "eager": 0.28}
"""The least worth of an edit that is shown, by `nes_aggressiveness`."""
PLACE_THRESHOLDS = {"quiet": 0.97, "default": 0.95, "eager": 0.75}
"""The least probability of a place to jump to when the text is not known."""
_EASY = frozenset({"double import", "import swap", "missing import", "template", "unused import"})
_EASE = 0.08
"""The bonus of rules that hardly ever propose anything when nothing is left to do."""
BY_MEANING = frozenset({
    "call", "diagnostic", "leftover", "leftover deletion", "missing import", "move", "pair",
    "rename", "signature", "unused import",
})  # fmt: skip
"""The rules that know a place by what the code means, not by how it looks: these make jumps."""
BY_HAND: dict[str, dict[str, float]] = {
    "diagnostic": {"bias": -2.2, "sure": 4.2, "place_only": 2.5},
    "signature": {"bias": -0.4, "keyword": 1.4, "other_file": -0.6, "done": 1.0},
    "progression": {"bias": -2.9, "three": 2.0, "typed2": 1.6, "typed": 0.3},
    "templated insertion": {"bias": -0.9, "cousins2": 0.3, "other_file": -2.0},
    "pair": {"bias": 0.6},
}  # fmt: skip
"""Rules of which the fitted repositories have few examples, or none, as of diagnostics."""
Weights = tuple[float, float, float]


def rate(candidate: Candidate, shift: float = 0.0) -> tuple[float, float]:
    """Return how likely the user keeps what a candidate changes, and how much it is worth.

    Raises:
        ValueError: The candidate has a feature that its rule does not declare.
    """
    if not candidate.is_sure:
        return 0.0, 0.0
    bias, weights = _joined(candidate.rule)
    if bias is None:
        return 0.0, 0.0
    step, exact, place = bias[0] + shift, bias[1] + shift, bias[2] + shift
    for name, value in candidate.features.items():
        found = weights.get(name)
        if found is None:
            raise _undeclared(candidate, name)
        if value:
            step += found[0] * value
            exact += found[1] * value
            place += found[2] * value
    kept = _share(step)
    return kept, worth(candidate.rule, _share(exact), _share(place))


def worth(rule: str, exact: float, place: float) -> float:
    """Return what a change is worth that is so likely all of it, at so likely a place."""
    return float((exact * place**3) ** 0.25) + (_EASE if rule in _EASY else 0.0)


def at_place(candidate: Candidate, shift: float = 0.0) -> float:
    """Return how likely the user changes something where a candidate begins.

    Raises:
        ValueError: The candidate has a feature that its rule does not declare.
    """
    bias, weights = _joined(candidate.rule)
    if bias is None:
        return 0.0
    total = bias[2] + shift
    for name, value in candidate.features.items():
        found = weights.get(name)
        if found is None:
            raise _undeclared(candidate, name)
        if value:
            total += found[2] * value
    return _share(total)


def _undeclared(candidate: Candidate, name: str) -> ValueError:
    return ValueError(
        f"the rule {candidate.rule!r} does not declare the feature {name!r} in _features.py"
    )


@cache
def _joined(rule: str) -> tuple[Weights | None, Mapping[str, Weights]]:
    """Return the coefficients of a rule in all tables: that of each candidate, and of features."""
    tables = [table.get(rule) or BY_HAND.get(rule) for table in (STEP, EXACT, PLACE)]
    step, exact, place = (table or {} for table in tables)
    joined = {
        name: (step.get(name, 0.0), exact.get(name, 0.0), place.get(name, 0.0))
        for name in {"bias", *declared_features(rule)}
    }
    has_bias = any("bias" in table for table in (step, exact, place))
    bias = joined.pop("bias")
    # Places alone, such as those of `call`, are in one table only.
    return bias if has_bias else None, joined


def _share(total: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, total))))
