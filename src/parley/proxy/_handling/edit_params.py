"""Edits of params by typed fields; only the members that change are written.

A member of which the value differs is written again; everything else, also what no type has, stays
as it came. In a list, the entries that were there before keep their bytes too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias, TypeGuard

import msgspec
from msgspec import Raw, Struct, structs

from parley.errors import MalformedValue, Unsupported
from parley.proxy._switch.patching import patch_object
from parley.rpc._codec import DECODE_ERRORS
from parley.schema._codec import decode, encode, strict_decoder
from parley.schema.base import Unknown

Lower: TypeAlias = Callable[[Any], Any]

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_WORD = re.compile(r"_([a-z])")


def unchanged(value: Any) -> Any:
    """Return the value: what was read is what is written."""
    return value


def encode_value(value: object) -> bytes:
    """Return the JSON of a value: a type of the protocol, plain data, or JSON that is there.

    Raises:
        TypeError: It has no JSON, or the bytes are none.
    """
    if isinstance(value, bytes):
        try:
            _decode_raw(value)
        except DECODE_ERRORS as error:
            raise TypeError(f"these bytes are not JSON: {error}") from error
        return value
    return encode(value)


def edit_params(body: bytes, before: object, fields: Mapping[str, Any], lower: Lower) -> bytes:
    """Return the bytes of an object with other values of some fields.

    Args:
        body: The object as it came.
        before: What it was read as.
        fields: The new values, by the names that the type has for them.
        lower: Makes of what was read what is written.

    Raises:
        Unsupported: The version on the wire cannot express this.
        TypeError: The type has no such field, or a value is not what the field takes.
    """
    if not isinstance(before, Struct) or isinstance(before, Unknown):
        return patch_object(
            body, {_wire(name): encode_value(value) for name, value in fields.items()}
        )
    names = {each.name: each.encode_name for each in structs.fields(before)}
    for name in fields:
        if name not in names:
            raise TypeError(f"{type(before).__name__} has no field {name!r}")
    after = structs.replace(before, **fields)
    try:
        old, new = _members(lower(before)), _members(lower(_read(after, fields)))
    except Unsupported:
        if not all(_is_wire(value) for value in fields.values()):
            raise
        return patch_object(
            body, {names[name]: encode_value(value) for name, value in fields.items()}
        )
    changes = {name: new.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}
    for name in fields:
        member = names[name]
        if changes.get(member) is not None:
            kept = _kept(body, member, getattr(before, name), getattr(after, name), changes[member])
            changes[member] = kept
    return patch_object(body, changes)


def _read(after: Struct, fields: Mapping[str, Any]) -> Struct:
    """Return an object as the next one reads it, which must find the new values in it."""
    kind, body = type(after), encode(after)
    try:
        return _strict(kind)(body)
    except DECODE_ERRORS:  # also what the schema lets pass, as an unknown variant
        pass
    try:
        read: Struct = decode(kind, body, kind.__name__)
    except MalformedValue as error:
        raise TypeError(str(error)) from error
    meant, found = msgspec.json.decode(body), msgspec.json.decode(encode(read))
    names = {each.name: each.encode_name for each in structs.fields(after)}
    for name in fields:
        if not _is_in(found.get(names[name]), meant.get(names[name])):
            raise TypeError(f"{kind.__name__}.{name} does not take this value")
    return read


def _is_in(found: object, meant: object) -> bool:
    """Return whether what was read is what was meant, but for members that no type knows."""
    if _is_object(found) and _is_object(meant):
        return all(_is_in(each, meant.get(name)) for name, each in found.items())
    if _is_list(found) and _is_list(meant):
        return len(found) == len(meant) and all(map(_is_in, found, meant))
    return found == meant


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


@cache
def _strict(kind: type[Struct]) -> Callable[[bytes], Struct]:
    decoder: msgspec.json.Decoder[Struct] = strict_decoder(kind)
    return decoder.decode


def _is_wire(value: object) -> bool:
    return not isinstance(value, Struct)


def _members(value: object) -> dict[str, bytes]:
    return {name: bytes(raw) for name, raw in _decode_members(encode_value(value)).items()}


def _kept(
    body: bytes, member: str, before: object, after: object, new: bytes | None
) -> bytes | None:
    """Return a list with the bytes of the entries that were there before."""
    if new is None or not _is_list(before) or not _is_list(after):
        return new
    return _with_old_items(body, member, before, after, new)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _with_old_items(
    body: bytes, member: str, known: list[Any], wanted: list[Any], new: bytes
) -> bytes:
    try:
        old_items = _decode_items(_decode_members(body)[member])
        new_items = _decode_items(new)
    except (KeyError, *DECODE_ERRORS):
        return new
    if len(old_items) != len(known) or len(new_items) != len(wanted):
        return new
    places = {id(item): place for place, item in enumerate(known)}
    items = [
        bytes(old_items[places[id(item)]]) if id(item) in places else bytes(new_items[place])
        for place, item in enumerate(wanted)
    ]
    return b"[%b]" % b",".join(items)


def _wire(name: str) -> str:
    """Return a name as the wire spells it."""
    if name == "meta":
        return "_meta"
    return _WORD.sub(lambda found: found[1].upper(), name)
