"""The features of each rule: everything that a candidate may say about itself to the score.

A feature is a number, mostly 0.0 or 1.0. The score of a rule weights its features with
coefficients, and refuses a candidate with a feature that is not declared here. A test compares this
table with the coefficients in both directions.
"""

from __future__ import annotations


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


_HERE = _named("above far hunks near")
"""Where a candidate is, in relation to the last edit of its file."""
_ELSEWHERE = _named("other_file other_folder other_sort other_touched")
"""The same of a candidate in another file."""
_COVERAGE = _named("all cover streak streak2")
"""The share of the recent edits that are of one kind."""
_COMPARISON = _named("ideas rivals")
"""The number of other candidates, and of those for the same line."""
_STYLE = _named("neat sorted typed")
"""The style of the project."""

FEATURES: dict[str, frozenset[str]] = {
    "analogy": _HERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "above_same age alike calm cousins cousins2 cousins_same even ops places same "
        "whole wordless"
    ),
    "block": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "above_same age alike below_same cousins cousins2 deletes one places same size twins twins2"
    ),
    "call": _HERE
    | _ELSEWHERE
    | _COMPARISON
    | _named("added age common done fits keyword method mid owned places removed required"),
    "diagnostic": _HERE | _ELSEWHERE | _COMPARISON | _named("error place_only sure"),
    "double import": _HERE | _COMPARISON | _STYLE | _named("joint many mixed share"),
    "import swap": _HERE
    | _COMPARISON
    | _STYLE
    | _named(
        "age agree alone behind bracketed broken cleared defined final fits guarded guessed "
        "habit in_line in_order into joint known last lost mentions mixed module moved "
        "names nested old_word ordered over own package same second several share single "
        "sorted_fits stale standard statements swap tidy unbound untidy upper uses "
        "uses_before votes way"
    ),
    "insertion": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "above_same age alike anchor_above below_same cousins cousins2 places same size "
        "twins twins2 words"
    ),
    "leftover": _HERE
    | _ELSEWHERE
    | _COMPARISON
    | _named(
        "age anew kind_export kind_local kind_member kind_name lone lone_anew places run "
        "short support2 support3 upper"
    ),
    "leftover deletion": _HERE
    | _ELSEWHERE
    | _COMPARISON
    | _named(
        "age anew asserts assigns called imports kind_export kind_local kind_member "
        "kind_name lone lone_anew places returns run short simple size support2 support3 "
        "upper whole"
    ),
    "missing import": _HERE
    | _COMPARISON
    | _STYLE
    | _named(
        "agree behind bracketed defined final fits guarded guessed habit in_line in_order "
        "into joint known last lost mixed module names old_word ordered over own same "
        "second several share single sorted_fits standard statements swap tidy unbound "
        "untidy upper uses votes way"
    ),
    "move": _HERE | _ELSEWHERE | _COMPARISON | _named("age part replaces size whole"),
    "pair": _HERE | _ELSEWHERE | _COMPARISON | _named("same_file"),
    "pattern": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named("age alike calm fixed holes hunks2 hunks3 passed places rate run support2 support3"),
    "progression": _HERE | _COMPARISON | _named("lines three typed typed2"),
    "rename": _HERE
    | _ELSEWHERE
    | _COMPARISON
    | _named(
        "age anew joint kind_export kind_local kind_member kind_name lone lone_anew "
        "places run short support2 support3 upper"
    ),
    "repeat": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "age alike bare calm common complete deletes even fresh hunks2 hunks3 inserts "
        "left long name number passed places prose prose_apart rate rest right run same "
        "same1 same2 skipped small solid solid2 solid3 still support2 support3 unknown "
        "whole wordless"
    ),
    "signature": _HERE
    | _ELSEWHERE
    | _COMPARISON
    | _named("added age common done fits keyword method mid owned places removed required"),
    "template": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named("age alike calm fixed holes hunks2 hunks3 places run same support3"),
    "templated insertion": _HERE
    | _ELSEWHERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "above_same age alike anchor_above below_same cousins cousins2 places same size "
        "twins twins2 words"
    ),
    "unused import": _HERE
    | _COMPARISON
    | _STYLE
    | _named(
        "age alone broken cleared guarded joint mentions mixed moved nested package stale "
        "swap untidy uses_before"
    ),
}
"""The features of each rule."""

WITHOUT_COEFFICIENT: dict[str, frozenset[str]] = {
    "diagnostic": _HERE | _ELSEWHERE | _COMPARISON | _named("error"),
    "double import": _named("joint mixed rivals"),
    "import swap": _named("behind cleared joint mixed nested own package second stale swap way"),
    "leftover": _named("anew lone lone_anew support2 support3"),
    "leftover deletion": _named("anew lone lone_anew support2 support3"),
    "missing import": _named("mixed"),
    "pair": _HERE | _ELSEWHERE | _COMPARISON | _named("same_file"),
    "progression": _HERE | _COMPARISON | _named("lines"),
    "rename": _named("above"),
    "signature": _HERE
    | _COMPARISON
    | _named(
        "added age common fits method mid other_folder other_sort other_touched owned "
        "places removed required"
    ),
    "templated insertion": _HERE
    | _COVERAGE
    | _COMPARISON
    | _named(
        "above_same age alike anchor_above below_same cousins other_folder other_sort "
        "other_touched places same size twins twins2 words"
    ),
    "unused import": _named("mixed"),
}
"""Features that a rule has and the score passes over.

The fit found no influence, as they hardly vary in the fitted repositories, or the coefficients of
the rule are chosen by hand and leave them out.
"""


def agreement_feature(rule: str) -> str:
    """Return the feature of a candidate that another rule proposes too; any rule may have it."""
    return f"also_{rule}"


def declared_features(rule: str) -> frozenset[str]:
    """Return all features that candidates of a rule may have.

    Raises:
        ValueError: There is no such rule.
    """
    if rule not in FEATURES:
        raise ValueError(f"the rule {rule!r} declares no features in _features.py")
    return FEATURES[rule] | {agreement_feature(each) for each in FEATURES}
