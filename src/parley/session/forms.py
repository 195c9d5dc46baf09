"""Whether what was filled in fits the form that was asked for.

Both sides look: the client before it sends, the agent before the program gets it. A field of a kind
that is not known here fits as it is, and so does a string of an unknown format; a pattern that
`patterns.py` cannot evaluate is passed over. A field that the form does not have is an error.

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

from .patterns import Pattern

__all__ = ["check_content", "check_patterns", "problem_of"]


def check_content(form: v2.ElicitationSchema, content: Mapping[str, Any] | None) -> None:
    """Refuse what does not fit.

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


def check_patterns(form: v2.ElicitationSchema) -> None:
    """Refuse a form whose answers could not be checked.

    Raises:
        ValueError: A pattern cannot be evaluated.
    """
    for field in form.properties.values():
        if isinstance(field, v2.StringPropertySchema) and field.pattern is not None:
            Pattern(field.pattern)


def problem_of(field: v2.ElicitationPropertySchema, value: Any) -> str | None:
    """Return what is wrong with the value of a field; None: it fits."""
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
        return "expected a text"
    known = [*(field.enum or ()), *(each.const for each in field.one_of or ())]
    if known and value not in known:
        return f"expected one of: {', '.join(known)}"
    problem = _range_problem(len(value), field.min_length, field.max_length, " characters")
    if problem is not None:
        return problem
    if not _has_format(field.format, value):
        return f"expected something of the format {field.format}"
    if field.pattern is not None and not _fits(field.pattern, value):
        return f"expected something that fits {field.pattern}"
    return None


def _fits(pattern: str, text: str) -> bool:
    try:
        compiled = Pattern(pattern)
    except ValueError:
        return True
    return compiled.is_in(text)


def _choices_problem(field: v2.MultiSelectPropertySchema, value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return "expected a list"
    chosen = cast("Sequence[object]", value)
    known: list[str] = []
    match field.items:
        case v2.StringMultiSelectItems(enum=enum):
            known = enum
        case v2.TitledMultiSelectItems(any_of=options):
            known = [each.const for each in options]
        case _:
            pass
    if known and any(each not in known for each in chosen):
        return f"expected some of: {', '.join(known)}"
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
