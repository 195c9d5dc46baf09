"""The second, lenient pass of decoding: builds the reader of each type.

A reader is built once per type, when the strict decoder first rejects a value of it. The readers
themselves are in `_readers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType

from ._readers import (
    ANY_START,
    NUMBER_START,
    Field,
    IntegerReader,
    ListReader,
    LiteralReader,
    MapReader,
    ObjectReader,
    Reader,
    SecondTagReader,
    SignalReader,
    TaggedUnionReader,
    UnionReader,
    UntaggedUnionReader,
    Variants,
    one_of,
)
from ._strict import choice, members, unwrap
from .base import FORMER_TAG, OPEN, SIGNAL, NoMember, UnknownReadsAs

_SIMPLE: dict[Any, tuple[str, bytes]] = {
    str: ("string", b'"'),
    bool: ("boolean", b"tf"),
    float: ("number", NUMBER_START),
    NoneType: ("null", b"n"),
}


@cache
def _fields(struct: type[Struct]) -> tuple[Field, ...]:
    infos = msgspec.structs.fields(struct)
    return tuple(Field(struct, info, reader(info.type)) for info in infos)


@cache
def reader(tp: Any) -> Reader:
    """Return the lenient reader of a type."""
    bare, notes = unwrap(tp)
    among = choice(bare)
    if among is not None:
        variants = [_variants(*tagged, among.is_open) for tagged in among.tagged.items()]
        return UntaggedUnionReader(tp, variants, [reader(member) for member in among.plain])
    union = [member for member in members(bare) if member is not UnsetType]
    if len(union) > 1:
        return _union(tp, union, OPEN in notes)
    return _single(tp, bare, notes)


def _single(tp: Any, bare: Any, notes: tuple[Any, ...]) -> Reader:
    limits = next((note for note in notes if isinstance(note, Meta)), Meta())
    origin = get_origin(bare)
    if SIGNAL in notes:
        return SignalReader(tp, "string", b'"' + NUMBER_START)
    if origin is list:
        expects = f"array of at least {limits.min_length}" if limits.min_length else "array"
        return ListReader(tp, expects, reader(get_args(bare)[0]), limits.min_length or 0)
    if origin is dict:
        return MapReader(tp, "object", reader(get_args(bare)[1]))
    if origin is Literal:
        return _literal_reader(tp, get_args(bare), notes)
    if isinstance(bare, type) and issubclass(bare, Struct):
        return ObjectReader(tp, bare, _fields)
    if bare is int:
        return IntegerReader(tp, f"integer{_bounds(limits)}", NUMBER_START)
    expects, starts = _SIMPLE.get(bare, ("a value in range", ANY_START))
    return Reader(tp, f"{expects}{_bounds(limits)}", starts)


def _literal_reader(tp: Any, values: tuple[Any, ...], notes: tuple[Any, ...]) -> Reader:
    for note in notes:
        if isinstance(note, UnknownReadsAs):
            return LiteralReader(tp, one_of(values), note.value)
    kind = SecondTagReader if OPEN in notes else Reader
    return kind(tp, one_of(values), b'"' if isinstance(values[0], str) else NUMBER_START)


def _union(tp: Any, union: list[Any], is_open: bool) -> Reader:
    tagged: dict[str, dict[str, type[Struct]]] = {}
    others: list[Any] = []
    for member in union:
        config = getattr(member, "__struct_config__", None)
        if config is None or config.tag is None:
            others.append(member)
        elif not issubclass(member, NoMember):
            tagged.setdefault(config.tag_field, {})[config.tag] = member
    readers = [reader(member) for member in others if not _is_covered_literal(others, member)]
    for tag_field, structs in tagged.items():
        if len(structs) == 1 and not is_open:
            readers += map(reader, structs.values())  # a lone member may lack its tag
        else:
            readers.append(TaggedUnionReader(tp, _variants(tag_field, structs, is_open)))
    return readers[0] if len(readers) == 1 and not others else UnionReader(tp, readers)


def _variants(tag_field: str, structs: Mapping[str, type[Struct]], is_open: bool) -> Variants:
    objects = {tag: ObjectReader(struct, struct, _fields) for tag, struct in structs.items()}
    former = {
        getattr(struct, FORMER_TAG): objects[tag]
        for tag, struct in structs.items()
        if hasattr(struct, FORMER_TAG)
    }
    return Variants(tag_field, objects, is_open, former)


def _is_covered_literal(union: list[Any], member: Any) -> bool:
    """Return whether a member only lists known values of an open enumeration.

    In `Literal["a", "b"] | str`, the `str` accepts the known values too.
    """
    values = get_args(member) if get_origin(member) is Literal else ()
    kinds: set[Any] = {type(value) for value in values}
    return any(unwrap(other)[0] in kinds for other in union)


def _bounds(limits: Meta) -> str:
    if limits.ge is not None and limits.le is not None:
        return f" from {limits.ge} to {limits.le}"
    if limits.ge is not None:
        return f" of at least {limits.ge}"
    return f" of length {limits.min_length} or more" if limits.min_length else ""
