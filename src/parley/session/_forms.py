"""Validation of submitted form content against the form's schema.

Both sides validate: the client before it sends the content, the agent before it passes the content
to the program. Fields of an unrecognized kind and strings of an unrecognized format are always
valid. A field that is not in the form is an error.

Only the agent evaluates patterns, because it wrote them: a malicious pattern can keep Python's `re`
busy forever by backtracking. A client shows the pattern to the user and leaves the check to the
agent.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, cast

from parley.errors import MalformedValue
from parley.schema import v2


def check_content(form: v2.ElicitationSchema, content: Mapping[str, Any] | None) -> None:
    """Check submitted content against a form, except for patterns.

    Raises:
        MalformedValue: A field is missing, has a wrong value, or is not in the form.
    """
    content = content or {}
    required = form.required or ()
    for name in required:
        if name not in content:
            raise MalformedValue(f"content.{name}", "is required")
    for name, value in content.items():
        if name in form.properties:
            if (problem := problem_of(form.properties[name], value)) is not None:
                raise MalformedValue(f"content.{name}", problem)
        elif name not in required:
            raise MalformedValue(f"content.{name}", "is not in the form")


def check_own_content(form: v2.ElicitationSchema, content: Mapping[str, Any] | None) -> None:
    """Check submitted content against a form of this program, including its patterns.

    Raises:
        MalformedValue: A field is missing, has a wrong value, or is not in the form.
    """
    check_content(form, content)
    for name, pattern in compile_patterns(form).items():
        if name in (content or {}) and pattern.search((content or {})[name]) is None:
            raise MalformedValue(
                f"content.{name}", f"expected a value that matches {pattern.pattern}"
            )


def compile_patterns(form: v2.ElicitationSchema) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a form of this program, by field.

    Raises:
        ValueError: A pattern is not a valid regular expression.
    """
    compiled: dict[str, re.Pattern[str]] = {}
    for name, field in form.properties.items():
        if isinstance(field, v2.StringPropertySchema) and field.pattern is not None:
            try:
                compiled[name] = re.compile(field.pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"the pattern of {name!r} is invalid: {error}") from error
    return compiled


def problem_of(field: v2.ElicitationPropertySchema, value: Any) -> str | None:
    """Return the problem with the value of a field, or None; patterns are not evaluated."""
    match field:
        case v2.StringPropertySchema():
            return _string_problem(field, value)
        case v2.BooleanPropertySchema():
            return None if isinstance(value, bool) else "expected yes or no"
        case v2.IntegerPropertySchema():
            if not _is_number(value) or value != int(value):
                return "expected a whole number"
            return _range_problem(value, field.minimum, field.maximum)
        case v2.NumberPropertySchema():
            if not _is_number(value):
                return "expected a number"
            return _range_problem(value, field.minimum, field.maximum)
        case v2.MultiSelectPropertySchema():
            return _choices_problem(field, value)
        case _:
            return None


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _range_problem(
    number: float, low: float | None, high: float | None, of: str = ""
) -> str | None:
    if low is not None and number < low:
        return f"expected at least {low}{of}"
    if high is not None and number > high:
        return f"expected at most {high}{of}"
    return None


def _string_problem(field: v2.StringPropertySchema, value: Any) -> str | None:
    if not isinstance(value, str):
        return "expected text"
    allowed = [*(field.enum or ()), *(each.const for each in field.one_of or ())]
    if allowed and value not in allowed:
        return f"expected one of: {', '.join(allowed)}"
    problem = _range_problem(len(value), field.min_length, field.max_length, " characters")
    if problem is not None:
        return problem
    if not _has_format(field.format, value):
        return f"expected a value in the format {field.format}"
    return None


def _choices_problem(field: v2.MultiSelectPropertySchema, value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return "expected a list"
    chosen = cast("Sequence[object]", value)
    allowed: list[str] = []
    match field.items:
        case v2.StringMultiSelectItems(enum=enum):
            allowed = enum
        case v2.TitledMultiSelectItems(any_of=options):
            allowed = [each.const for each in options]
        case _:
            pass
    if allowed and any(each not in allowed for each in chosen):
        return f"expected some of: {', '.join(allowed)}"
    return _range_problem(len(chosen), field.min_items, field.max_items, " choices")


def _has_format(format: str | None, text: str) -> bool:
    if format not in _FORMATS:
        return True
    try:
        return _FORMATS[format](text)
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    return date.fromisoformat(text).isoformat() == text


def _is_date_time(text: str) -> bool:
    return datetime.fromisoformat(text.upper()).tzinfo is not None


def _is_email(text: str) -> bool:
    name, _, domain = text.rpartition("@")
    return bool(name and domain) and not any(map(str.isspace, text))


def _is_uri(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S", text) is not None


_FORMATS: dict[str | None, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_date_time,
    "email": _is_email,
    "uri": _is_uri,
}
