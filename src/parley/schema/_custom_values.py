"""Rejection of custom values that do not start with an underscore, before they are sent.

The protocol has open enumerations and unions: values that start with `_` are free for extensions,
and all others are reserved for future versions. A receiver keeps both. The *author* of a message
checks it here; a program that forwards the messages of others does not.

The declarations determine which fields are open, see `base.py`. They are examined once per class; a
value without open fields costs one dictionary lookup.
https://agentclientprotocol.com/protocol/v2/draft/extensibility
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct

from parley.errors import LocalProtocolError

from ._strict import choice, members, unwrap
from .base import OPEN, Unknown, is_extension

_Check: TypeAlias = Callable[[Any], None]

_NOT_RESERVED = frozenset({"StringPropertySchema.format"})
"""Open fields whose unknown values the protocol does not reserve: any string may be a format."""
_ALSO_KNOWN = {"mcpServers": frozenset({"sse"})}
"""By field, the tags that version 1 has and version 2 does not."""


def check_custom_values(value: object) -> None:
    """Check that no part of a value is reserved for future versions of the protocol.

    Args:
        value: A value of any type of the protocol; other objects are ignored.

    Raises:
        LocalProtocolError: An enumeration value or a tag is neither part of the protocol nor starts
            with an underscore.
    """
    for name, check in _open_fields[type(value)]:
        part = getattr(value, name)
        if part is not None and part is not UNSET:
            check(part)


def check_custom_method(name: str) -> None:
    """Check that the name of an extension method starts with an underscore.

    Raises:
        LocalProtocolError: The name does not start with an underscore.
    """
    if not is_extension(name):
        raise LocalProtocolError(
            f"{name!r} cannot name a method of your own; "
            f"custom values start with an underscore, such as {'_' + name!r}"
        )


def _check_custom_value(value: str, role: str) -> None:
    if not is_extension(value):
        raise LocalProtocolError(
            f"{value!r} is not {role} that the protocol has; "
            f"custom values start with an underscore, such as {'_' + value!r}"
        )


class _OpenFields(dict[type, Sequence[tuple[str, _Check]]]):
    def __missing__(self, cls: type) -> Sequence[tuple[str, _Check]]:
        found = self[cls] = tuple(_find_open_fields(cls))
        return found


_open_fields = _OpenFields()
"""By class, the fields that may hold custom values and their checks; most classes have none."""


def _find_open_fields(cls: type) -> Sequence[tuple[str, _Check]]:
    if issubclass(cls, Unknown):
        return [("tag", lambda tag: _check_custom_value(tag, "a type"))]
    if not issubclass(cls, Struct):
        return []
    return [
        (field.name, check)
        for field in msgspec.structs.fields(cls)
        if f"{cls.__name__}.{field.name}" not in _NOT_RESERVED
        and (check := _check_of(field.type, field.encode_name)) is not None
    ]


@cache
def _check_of(tp: Any, field: str) -> _Check | None:
    """Return the check for values of a type, or None if they cannot contain custom values."""
    bare, notes = unwrap(tp)
    among = choice(bare)
    if among is not None:
        tagged = (each for by_tag in among.tagged.values() for each in by_tag.values())
        return _any_of([_check_of(each, field) for each in (*tagged, *among.plain)])
    union = members(bare)
    values = [value for each in union for value in _literal_values(each)]
    # `Literal[...] | str` is an open enumeration, `Open[Literal[...]]` a second tag; see `base.py`.
    if values and (str in union or OPEN in notes):
        return _value_check(frozenset(values), field)
    if OPEN in notes:
        return _tag_check(_ALSO_KNOWN[field]) if field in _ALSO_KNOWN else check_custom_values
    if len(union) > 1:
        return _any_of([_check_of(each, field) for each in union])
    return _single_check(bare, field)


def _single_check(bare: Any, field: str) -> _Check | None:
    origin = get_origin(bare)
    if origin is list and (item := _check_of(get_args(bare)[0], field)) is not None:
        return _items_check(item)
    if origin is dict and (item := _check_of(get_args(bare)[1], field)) is not None:
        return _values_check(item)
    is_struct = isinstance(bare, type) and issubclass(bare, Struct)
    return check_custom_values if is_struct else None


def _literal_values(tp: Any) -> tuple[Any, ...]:
    bare, _ = unwrap(tp)
    return get_args(bare) if get_origin(bare) is Literal else ()


def _any_of(checks: Sequence[_Check | None]) -> _Check | None:
    """Combine the checks of a union's members; each ignores values of other members."""
    found = list(dict.fromkeys(each for each in checks if each is not None))
    if len(found) < 2:
        return found[0] if found else None

    def check(value: Any) -> None:
        for each in found:
            each(value)

    return check


def _value_check(known: frozenset[str], field: str) -> _Check:
    def check(value: Any) -> None:
        if isinstance(value, str) and value not in known:
            _check_custom_value(value, f"a value of {field!r}")

    return check


def _tag_check(also_known: frozenset[str]) -> _Check:
    def check(value: Any) -> None:
        if not isinstance(value, Unknown) or value.tag not in also_known:
            check_custom_values(value)

    return check


def _items_check(item: _Check) -> _Check:
    def check(value: Any) -> None:
        if isinstance(value, list | tuple):
            for each in cast("Sequence[Any]", value):
                item(each)

    return check


def _values_check(item: _Check) -> _Check:
    def check(value: Any) -> None:
        if isinstance(value, Mapping):
            for each in cast("Mapping[str, Any]", value).values():
                item(each)

    return check
