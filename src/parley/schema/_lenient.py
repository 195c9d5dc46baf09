"""The second pass: which reader takes apart the values of which type.

Worked out once per type, when a value of it is first refused by the strict decoder. The readers
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
    Integer,
    List,
    Map,
    Object,
    Reader,
    SecondTag,
    Tagged,
    Union,
    Untagged,
    Variants,
    Words,
    one_of,
)
from ._strict import choice, members, unwrap
from .base import OPEN, Ghost, Otherwise

__all__ = ["reader"]

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
    """Return what reads a type leniently."""
    bare, notes = unwrap(tp)
    among = choice(bare)
    if among is not None:
        variants = [_variants(*tagged, among.is_open) for tagged in among.tagged.items()]
        return Untagged(tp, variants, [reader(member) for member in among.plain])
    union = [member for member in members(bare) if member is not UnsetType]
    if len(union) > 1:
        return _union(tp, union, OPEN in notes)
    return _single(tp, bare, notes)


def _single(tp: Any, bare: Any, notes: tuple[Any, ...]) -> Reader:
    limits = next((note for note in notes if isinstance(note, Meta)), Meta())
    origin = get_origin(bare)
    if origin is list:
        expects = f"array of at least {limits.min_length}" if limits.min_length else "array"
        return List(tp, expects, reader(get_args(bare)[0]), limits.min_length or 0)
    if origin is dict:
        return Map(tp, "object", reader(get_args(bare)[1]))
    if origin is Literal:
        return _words(tp, get_args(bare), notes)
    if isinstance(bare, type) and issubclass(bare, Struct):
        return Object(tp, bare, _fields)
    if bare is int:
        return Integer(tp, f"integer{_bounds(limits)}", NUMBER_START)
    expects, starts = _SIMPLE.get(bare, ("a value in range", ANY_START))
    return Reader(tp, f"{expects}{_bounds(limits)}", starts)


def _words(tp: Any, words: tuple[Any, ...], notes: tuple[Any, ...]) -> Reader:
    for note in notes:
        if isinstance(note, Otherwise):
            return Words(tp, one_of(words), note.word)
    kind = SecondTag if OPEN in notes else Reader
    return kind(tp, one_of(words), b'"' if isinstance(words[0], str) else NUMBER_START)


def _union(tp: Any, union: list[Any], is_open: bool) -> Reader:
    tagged: dict[str, dict[str, type[Struct]]] = {}
    others: list[Any] = []
    for member in union:
        config = getattr(member, "__struct_config__", None)
        if config is None or config.tag is None:
            others.append(member)
        elif not issubclass(member, Ghost):
            tagged.setdefault(config.tag_field, {})[config.tag] = member
    readers = [reader(member) for member in others if not _is_word_of(others, member)]
    for tag_field, structs in tagged.items():
        if len(structs) == 1 and not is_open:
            readers += map(reader, structs.values())  # alone it may lack its tag
        else:
            readers.append(Tagged(tp, _variants(tag_field, structs, is_open)))
    return readers[0] if len(readers) == 1 and not others else Union(tp, readers)


def _variants(tag_field: str, structs: Mapping[str, type[Struct]], is_open: bool) -> Variants:
    objects = {tag: Object(struct, struct, _fields) for tag, struct in structs.items()}
    return Variants(tag_field, objects, is_open)


def _is_word_of(union: list[Any], member: Any) -> bool:
    """Return whether this is the known words of an open enumeration, which others fit as well."""
    words = get_args(member) if get_origin(member) is Literal else ()
    kinds: set[Any] = {type(word) for word in words}
    return any(unwrap(other)[0] in kinds for other in union)


def _bounds(limits: Meta) -> str:
    if limits.ge is not None and limits.le is not None:
        return f" from {limits.ge} to {limits.le}"
    if limits.ge is not None:
        return f" of at least {limits.ge}"
    return f" of length {limits.min_length} or more" if limits.min_length else ""
