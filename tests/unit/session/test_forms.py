"""Validation of submitted form content."""

from __future__ import annotations

from typing import Any

import pytest

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._forms import (
    check_content,
    check_own_content,
    compile_patterns,
    problem_of,
)

TEXT = v2.StringPropertySchema
WHOLE = v2.IntegerPropertySchema
NUMBER = v2.NumberPropertySchema
AB = v2.StringMultiSelectItems(enum=["a", "b"])
TITLED = v2.TitledMultiSelectItems(any_of=[v2.EnumOption(const="a", title="A")])
SEVERAL = v2.MultiSelectPropertySchema
CHOICE = TEXT(one_of=[v2.EnumOption(const="a", title="A")])

FITS: list[tuple[v2.ElicitationPropertySchema, Any]] = [
    (TEXT(), ""),
    (TEXT(min_length=2, max_length=3), "äöü"),
    (TEXT(enum=["a"]), "a"),
    (CHOICE, "a"),
    (TEXT(pattern="^x"), "the agent checks this"),
    (TEXT(format="_phone"), "whatever"),
    (TEXT(format="date"), "2026-02-28"),
    (TEXT(format="date-time"), "2026-02-28T10:00:00.123z"),
    (TEXT(format="email"), "ada@example.org"),
    (TEXT(format="uri"), "mailto:ada@example.org"),
    (WHOLE(minimum=0, maximum=9), 9),
    (WHOLE(), 7.0),
    (WHOLE(), 10**400),
    (NUMBER(minimum=0.5), 0.5),
    (NUMBER(), 3),
    (v2.BooleanPropertySchema(), False),
    (SEVERAL(items=AB), ["a", "b"]),
    (SEVERAL(items=TITLED, min_items=1, max_items=1), ("a",)),
    (SEVERAL(items=Unknown("_x", b"{}")), ["anything"]),
    (Unknown("_colour", b'{"type":"_colour"}'), {"any": "thing"}),
]


@pytest.mark.requirement("V1-ELIC-17", "V2-ELIC-08")
@pytest.mark.parametrize(("field", "value"), FITS)
def test_a_value_that_fits(field: v2.ElicitationPropertySchema, value: Any) -> None:
    assert problem_of(field, value) is None


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        (TEXT(), 5, "expected text"),
        (TEXT(), None, "expected text"),
        (TEXT(min_length=2), "a", "expected at least 2 characters"),
        (TEXT(max_length=2), "abc", "expected at most 2 characters"),
        (TEXT(enum=["a", "b"]), "c", "expected one of: a, b"),
        (CHOICE, "A", "expected one of: a"),
        (TEXT(format="date"), "2026-02-30", "expected a value in the format date"),
        (TEXT(format="date"), "20260228", "expected a value in the format date"),
        (
            TEXT(format="date-time"),
            "2026-02-28T10:00",
            "expected a value in the format date-time",
        ),
        (TEXT(format="email"), "ada @x", "expected a value in the format email"),
        (TEXT(format="email"), "ada", "expected a value in the format email"),
        (TEXT(format="uri"), "/x", "expected a value in the format uri"),
        (WHOLE(), "5", "expected a whole number"),
        (WHOLE(), 5.5, "expected a whole number"),
        (WHOLE(), True, "expected a whole number"),
        (WHOLE(), float("inf"), "expected a whole number"),
        (WHOLE(minimum=3), 2, "expected at least 3"),
        (NUMBER(maximum=1.5), 2, "expected at most 1.5"),
        (NUMBER(), float("nan"), "expected a number"),
        (v2.BooleanPropertySchema(), 1, "expected yes or no"),
        (SEVERAL(items=AB), "a", "expected a list"),
        (SEVERAL(items=AB), ["a", "c"], "expected some of: a, b"),
        (SEVERAL(items=TITLED), [5], "expected some of: a"),
        (SEVERAL(items=AB, min_items=1), [], "expected at least 1 choices"),
        (SEVERAL(items=AB, max_items=1), ["a", "b"], "expected at most 1 choices"),
    ],
)
def test_a_value_that_does_not_fit(
    field: v2.ElicitationPropertySchema, value: Any, problem: str
) -> None:
    assert problem_of(field, value) == problem


def form(*required: str, **fields: v2.ElicitationPropertySchema) -> v2.ElicitationSchema:
    return v2.ElicitationSchema(type="object", properties=fields, required=list(required))


def test_a_form_has_its_required_fields_and_no_others() -> None:
    request = form("name", "odd", name=TEXT(), age=WHOLE())
    check_content(request, {"name": "Ada", "odd": 1})
    check_content(request, {"name": "Ada", "odd": 1, "age": 36})
    check_content(form(age=WHOLE()), None)
    check_content(v2.ElicitationSchema(type="object", properties={}), {})
    for content, expected in (
        (None, "content.name: is required"),
        ({"name": "Ada"}, "content.odd: is required"),
        ({"name": 5, "odd": 1}, "content.name: expected text"),
        ({"name": "Ada", "odd": 1, "more": 1}, "content.more: is not in the form"),
    ):
        with pytest.raises(MalformedValue) as raised:
            check_content(request, content)
        assert str(raised.value) == expected


def test_an_agent_checks_the_patterns_of_its_own_form() -> None:
    own = form(name=TEXT(pattern="^a(?!z)"), age=WHOLE(), free=TEXT())
    check_own_content(own, {"name": "ab", "age": 1, "free": "z"})
    check_own_content(own, {"free": "z"})
    check_own_content(own, None)
    with pytest.raises(MalformedValue) as raised:
        check_own_content(own, {"name": "az"})
    assert str(raised.value) == "content.name: expected a value that matches ^a(?!z)"


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}"], ids=["syntax", "size"])
def test_an_invalid_pattern_is_reported_with_its_field(pattern: str) -> None:
    with pytest.raises(ValueError, match="the pattern of 'name' is invalid: "):
        compile_patterns(form(name=TEXT(pattern=pattern)))


@pytest.mark.requirement("V1-ELIC-18", "V2-ELIC-07")
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "^(a*)*b$", "("])
def test_a_client_does_not_evaluate_a_pattern_made_to_run_forever(pattern: str) -> None:
    stranger = form(name=TEXT(pattern=pattern))
    check_content(stranger, {"name": "a" * 100_000 + "!"})
    assert problem_of(stranger.properties["name"], "a" * 100_000 + "!") is None
