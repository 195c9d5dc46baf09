"""The first, strict pass of decoding: one msgspec decoder per type, and untagged unions.

A decoder accepts values that match its type exactly and rejects everything else; `_lenient.py`
handles the rejected values. Decoders are built on first use, never at import.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, cast, get_args, get_origin

import msgspec
from msgspec import Raw, ValidationError

from .base import JsonObject, OpenUntaggedUnion, UntaggedUnion

Buffer: TypeAlias = bytes | bytearray | memoryview | Raw


class _Decoders(dict[Any, Callable[[Buffer], Any]]):
    def __missing__(self, tp: Any) -> Callable[[Buffer], Any]:
        decode = self[tp] = build_decoder(tp).decode
        return decode


def build_decoder(tp: Any) -> msgspec.json.Decoder[Any]:
    """Build the strict decoder of a type."""
    return msgspec.json.Decoder(tp, dec_hook=_choose)


decoders = _Decoders()


class Choice:
    """The members of an `Untagged` union, arranged for finding the one that a value matches."""

    def __init__(self, union: Any, is_open: bool) -> None:
        self.is_open = is_open
        """Whether a value with an unknown tag is kept as `Unknown` instead of ignoring the tag."""
        self.tagged: dict[str, dict[str, Any]] = {}
        """The members with a tag, by tag field and tag."""
        self.plain: list[Any] = []
        """The members without a tag, in order."""
        for member in members(union):
            config = getattr(member, "__struct_config__", None)
            if config is None or config.tag is None:
                self.plain.append(member)
            else:
                self.tagged.setdefault(config.tag_field, {})[config.tag] = member


@cache
def choice(tp: Any) -> Choice | None:
    """Return the members of an `Untagged` union, or None for any other type."""
    origin = get_origin(tp)
    if origin is UntaggedUnion or origin is OpenUntaggedUnion:
        return Choice(get_args(tp)[0], origin is OpenUntaggedUnion)
    return None


def unwrap(tp: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split an `Annotated` type into the bare type and its annotations."""
    return (tp.__origin__, tp.__metadata__) if get_origin(tp) is Annotated else (tp, ())


def members(tp: Any) -> tuple[Any, ...]:
    """Return the members of a union; for any other type, just the type itself."""
    return get_args(tp) if get_origin(tp) in (Union, UnionType) else (tp,)


def _choose(tp: Any, value: Any) -> Any:
    """Convert a parsed value to the member of an `Untagged` union that it matches exactly."""
    among = choice(tp)
    if among is None:
        raise NotImplementedError(f"no JSON value can be read as {tp}")
    fields = cast(JsonObject, value) if isinstance(value, dict) else {}
    for field, tagged in among.tagged.items():
        tag = fields.get(field)
        if isinstance(tag, str) and tag in tagged:
            return msgspec.convert(value, tagged[tag], dec_hook=_choose)
        if isinstance(tag, str) and among.is_open:
            raise ValueError("unknown tag")  # the second pass has the bytes that `Unknown` keeps
    for member in among.plain:
        with suppress(ValidationError):
            return msgspec.convert(value, member, dec_hook=_choose)
    raise ValueError("fits no member")
