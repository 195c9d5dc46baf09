"""The strings of a JSON value, looked at one by one and changed where somebody wants to."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Raw

Change: TypeAlias = Callable[[tuple[str, ...], str], str]
"""Gets the names of the members that lead to a string, and the string; returns another."""


def rewrite_strings(body: bytes, change: Change, skipped: Collection[str] = ()) -> bytes:
    """Return JSON with other strings; the very same bytes where none has changed.

    Args:
        body: The JSON; what is none stays as it is.
        change: Returns the replacement of a string.
        skipped: Members that are left alone, with all that is in them.
    """
    try:
        value = json.loads(body, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):
        return body
    edit_params = _walked(value, (), change, skipped)
    if edit_params == value:
        return body
    try:
        return msgspec.json.encode(edit_params)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(edit_params))


def _number(text: str) -> Raw:
    """Keep a number as it is written."""
    return Raw(text.encode())


def _encodable(value: Any) -> Any:
    """Put something else in place of lone surrogates, also in names."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_encodable(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {_encodable(name): _encodable(each) for name, each in members.items()}
    return value


def _walked(value: Any, names: tuple[str, ...], change: Change, skipped: Collection[str]) -> Any:
    if isinstance(value, str):
        return change(names, value)
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        return [_walked(each, names, change, skipped) for each in items]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            name: each if name in skipped else _walked(each, (*names, name), change, skipped)
            for name, each in members.items()
        }
    return value
