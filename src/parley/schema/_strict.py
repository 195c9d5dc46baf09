"""The first pass: one msgspec decoder per type, and the choice among members without a tag.

A decoder reads what fits its type exactly and refuses everything else; `_lenient.py` looks at what
was refused. Decoders are built when they are first asked for, never at import.
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

__all__ = ["Buffer", "Choice", "build_decoder", "choice", "decoders", "members", "unwrap"]

Buffer: TypeAlias = bytes | bytearray | memoryview | Raw


class _Decoders(dict[Any, Callable[[Buffer], Any]]):
    def __missing__(self, tp: Any) -> Callable[[Buffer], Any]:
        decode = self[tp] = build_decoder(tp).decode
        return decode


def build_decoder(tp: Any) -> msgspec.json.Decoder[Any]:
    """Build the decoder of a type."""
    return msgspec.json.Decoder(tp, dec_hook=_choose)


decoders = _Decoders()


class Choice:
    """What tells the members of an `Untagged` union apart."""

    def __init__(self, union: Any, is_open: bool) -> None:
        self.is_open = is_open
        """Whether an unknown tag is kept and not passed over."""
        self.tagged: dict[str, dict[str, Any]] = {}
        """The members that have a tag, by tag field and tag."""
        self.plain: list[Any] = []
        """The members that have none, in order."""
        for member in members(union):
            config = getattr(member, "__struct_config__", None)
            if config is None or config.tag is None:
                self.plain.append(member)
            else:
                self.tagged.setdefault(config.tag_field, {})[config.tag] = member


@cache
def choice(tp: Any) -> Choice | None:
    """Return how to choose a member of this type; None if it is not an `Untagged` union."""
    origin = get_origin(tp)
    if origin is UntaggedUnion or origin is OpenUntaggedUnion:
        return Choice(get_args(tp)[0], origin is OpenUntaggedUnion)
    return None


def unwrap(tp: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type without what `Annotated` says about it, and that."""
    return (tp.__origin__, tp.__metadata__) if get_origin(tp) is Annotated else (tp, ())


def members(tp: Any) -> tuple[Any, ...]:
    """Return the members of a union; of any other type, the type itself."""
    return get_args(tp) if get_origin(tp) in (Union, UnionType) else (tp,)


def _choose(tp: Any, value: Any) -> Any:
    """Convert a parsed value to the member of an `Untagged` union that it fits exactly."""
    among = choice(tp)
    if among is None:
        raise NotImplementedError(f"no JSON value can be read as {tp}")
    fields = cast(JsonObject, value) if isinstance(value, dict) else {}
    for field, tagged in among.tagged.items():
        tag = fields.get(field)
        if isinstance(tag, str) and tag in tagged:
            return msgspec.convert(value, tagged[tag], dec_hook=_choose)
        if isinstance(tag, str) and among.is_open:
            raise ValueError("unknown tag")  # the second pass has the bytes to keep
    for member in among.plain:
        with suppress(ValidationError):
            return msgspec.convert(value, member, dec_hook=_choose)
    raise ValueError("fits no member")
