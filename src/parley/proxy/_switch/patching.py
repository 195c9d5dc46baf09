"""Changing members of an object in its bytes; what is not named stays as it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from parley.errors import InvalidParams
from parley.rpc._codec import DECODE_ERRORS

from .splice import AmbiguousMessage, locate

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_META = "_meta"


def patch_object(body: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """Return an object with other values of some members; None takes a member out.

    The rest keeps its bytes. What is new stands at the end.

    Raises:
        InvalidParams: It is not an object, or has a member twice.
    """
    if not changes:
        return body
    body = body or b"{}"
    try:
        places = locate(body, *changes)
    except AmbiguousMessage as error:
        raise InvalidParams("The params have a duplicate key") from error
    except DECODE_ERRORS as error:
        raise InvalidParams("The params are not an object") from error
    if any(value is None and name in places for name, value in changes.items()):
        return _rebuild(body, changes)
    for name in sorted(places, key=lambda name: places[name], reverse=True):
        start, end = places[name]
        value = changes[name]
        assert value is not None
        body = b"%b%b%b" % (body[:start], value, body[end:])
    new = [
        b"%b:%b" % (msgspec.json.encode(name), value)
        for name, value in changes.items()
        if name not in places and value is not None
    ]
    if not new:
        return body
    end = body.rindex(b"}")
    head = body[:end].rstrip()
    comma = b"" if head.endswith(b"{") else b","
    return b"%b%b%b%b" % (head, comma, b",".join(new), body[end:])


def _rebuild(body: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """Write an object again, without the members that leave it; the values keep their bytes."""
    members: dict[str, bytes] = {}
    for name, raw in _decode_members(body).items():
        members[name] = bytes(raw)
    for name, value in changes.items():
        if value is None:
            members.pop(name, None)
        else:
            members[name] = value
    pairs = (b"%b:%b" % (msgspec.json.encode(name), value) for name, value in members.items())
    return b"{%b}" % b",".join(pairs)


def set_path(body: bytes, path: tuple[str, ...], value: bytes) -> bytes:
    """Return an object with one value put somewhere inside; what is missing on the way is made."""
    name, *fallback = path
    if fallback:
        inside = _member(body, name)
        value = set_path(inside if inside.startswith(b"{") else b"{}", tuple(fallback), value)
    return patch_object(body, {name: value})


def remove_path(body: bytes, path: tuple[str, ...]) -> bytes:
    """Return an object without a value somewhere inside, and without what is empty then."""
    name, *fallback = path
    if not fallback:
        return patch_object(body, {name: None})
    inside = remove_path(_member(body, name), tuple(fallback))
    return patch_object(body, {name: None if inside == b"{}" else inside})


def patch_member(body: bytes, name: str, changes: Mapping[str, bytes | None]) -> bytes:
    """Return an object with other members of one of its members."""
    return patch_object(body, {name: patch_object(_member(body, name), changes)})


def _member(body: bytes, name: str) -> bytes:
    try:
        return bytes(_decode_members(body or b"{}").get(name, Raw(b"{}")))
    except DECODE_ERRORS as error:
        raise InvalidParams("The params are not an object") from error


def merge_meta(params: Raw, meta: Raw) -> Raw:
    """Return params with what stood beside them as `_meta`; nothing that is there is changed."""
    try:
        beside: Any = _decode_members(meta)
        inside = _decode_members(_member(bytes(params), _META))
        new = {name: bytes(value) for name, value in beside.items() if name not in inside}
        return Raw(patch_member(bytes(params), _META, new)) if new else params
    except (InvalidParams, *DECODE_ERRORS):
        return params
