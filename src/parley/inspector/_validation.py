"""Violations of the schema: where a message differs from the types of the negotiated version.

A connection reads leniently, as the schema asks for: a bad value of an optional field reads as its
default. The inspector reports every such value. What the schema leaves open is not a violation:
unknown fields, unknown variants of open unions, and methods that the schema does not have.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Raw, Struct, ValidationError

from parley.errors import MalformedValue
from parley.schema._lenient import reader
from parley.schema._readers import (
    ListReader,
    MapReader,
    ObjectReader,
    Reader,
    TaggedUnionReader,
    UnionReader,
)
from parley.schema._strict import decoders, unwrap
from parley.schema.base import MethodTable, Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

Side: TypeAlias = Literal["agent", "client"]

MAX_VIOLATIONS = 50
"""The number of violations of one frame that are reported."""
_MAX_RECEIVED_CHARS = 120
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MODULES: dict[int, ModuleType] = {1: methods1, 2: methods2}


class Violation(Struct, frozen=True):
    """A place in a message that is not as the schema says."""

    path: str
    """The place, such as `params.prompt[2].text`."""
    expected: str
    received: str
    """The beginning of the value as JSON; `nothing` if it is missing."""
    doc: str = ""
    """The documentation of the type in which the value is."""


def is_known(version: int) -> bool:
    """Return whether this version of the protocol has types here."""
    return _MODULES.get(version) is not None


@cache
def all_methods(version: int) -> MethodTable:
    """Return all methods of a version, also those that only few programs support."""
    module = _MODULES[version]
    groups = (getattr(module, name) for name in dir(module) if name.endswith("_METHODS"))
    table: MethodTable = module.TABLE
    return table.extended(tuple(each for group in groups for each in group))


@cache
def params_type(version: int, kind: Literal["request", "notification"], to: Side, name: str) -> Any:
    """Return the type of the params of a method; None if the schema does not have the method."""
    method = all_methods(version).handled(kind, to).get(name)
    return None if method is None else method.params


@cache
def result_type(version: int, to: Side, name: str) -> Any:
    """Return the type of the result of a request; None if the schema does not have it."""
    method = all_methods(version).requests(to).get(name)
    return None if method is None else method.result


def is_valid(tp: Any, raw: Raw | bytes, path: str = "params") -> bool:
    """Return whether a value is as the schema says."""
    try:
        decoders[tp](raw)
    except _NOT_JSON:
        return next(_differences(tp, Raw(bytes(memoryview(raw))), path), None) is None
    return True


def violations(tp: Any, raw: Raw | bytes, path: str = "params") -> list[Violation]:
    """Return the places in which a value is not as the schema says, at most `MAX_VIOLATIONS`."""
    if is_valid(tp, raw, path):
        return []
    found = _differences(tp, Raw(bytes(memoryview(raw))), path)
    return [each for _, each in zip(range(MAX_VIOLATIONS), found, strict=False)]


def describe_type(tp: Any) -> tuple[str, str]:
    """Return the name and the documentation of a type."""
    bare, _ = unwrap(tp)
    members = [each for each in get_args(bare) or (bare,) if isinstance(each, type)]
    names = " | ".join(each.__name__ for each in members)
    docs = [_doc(each) for each in members]
    return names, "\n\n".join(each for each in docs if each)


def _doc(tp: Any) -> str:
    text = tp.__doc__ if isinstance(tp, type) and issubclass(tp, Struct) else None
    return inspect.cleandoc(text) if text else ""


def _differences(tp: Any, raw: Raw, path: str) -> Iterator[Violation]:
    try:
        yield from _walk(reader(tp), raw, path, "")
    except UnicodeDecodeError:
        yield Violation(path, "UTF-8", _received(raw))
    except (msgspec.DecodeError, RecursionError):
        yield Violation(path, "JSON that is not nested too deeply", _received(raw))


def _walk(found: Reader, raw: Raw, path: str, doc: str) -> Iterator[Violation]:
    """Yield the violations in a value; the strict decoder decides what is right."""
    try:
        found.exact(raw)
    except ValidationError:
        pass
    else:
        return
    start = _start(raw)
    match found:
        case UnionReader():
            yield from _walk_union(found, raw, path, doc)
        case ObjectReader() if start == b"{":
            yield from _walk_object(found, raw, path)
        case TaggedUnionReader() if start == b"{":
            yield from _walk_variant(found, raw, path, doc)
        case MapReader() | ListReader() if start in (b"{", b"["):
            yield from _walk_items(found, raw, path, doc)
        case ObjectReader() | TaggedUnionReader():
            yield Violation(path, found.expects, _received(raw), doc)
        case _:
            yield from _read(found, raw, path, doc)


def _walk_items(
    found: MapReader | ListReader, raw: Raw, path: str, doc: str
) -> Iterator[Violation]:
    if isinstance(found, MapReader) and _start(raw) == b"{":
        for key, part in _members(raw).items():
            yield from _walk(found.value, part, f"{path}.{key}", doc)
    elif isinstance(found, ListReader) and _start(raw) == b"[":
        for index, part in enumerate(_items(raw)):
            yield from _walk(found.item, part, f"{path}[{index}]", doc)
    else:
        yield Violation(path, found.expects, _received(raw), doc)


def _walk_object(found: ObjectReader, raw: Raw, path: str) -> Iterator[Violation]:
    parts, doc = _members(raw), _doc(found.struct)
    is_clean = True
    for field in found.fields(found.struct):
        key, part = field.find(parts)
        place = f"{path}.{key}"
        if part is None:
            if field.is_required:
                is_clean = False
                yield Violation(place, field.reader.expects, "nothing", doc)
            continue
        if field.null_falls_back and _start(part) == b"n":
            continue
        for each in _walk(field.reader, part, place, doc):
            is_clean = False
            yield each
    if is_clean:  # each member is right by itself, so a rule about all of them is broken
        yield from _read(found, raw, path, doc)


def _walk_variant(found: TaggedUnionReader, raw: Raw, path: str, doc: str) -> Iterator[Violation]:
    variants = found.variants
    tag = _members(raw).get(variants.tag_field)
    known = None if tag is None else variants.objects.get(_text(tag))
    if known is not None:
        if not (variants.is_open and _reads(found, raw)):
            yield from _walk_object(known, raw, path)
    else:
        yield from _read(found, raw, path, doc)


def _walk_union(found: UnionReader, raw: Raw, path: str, doc: str) -> Iterator[Violation]:
    fitting = [each for each in found.readers if _start(raw) in each.starts]
    if len(fitting) == 1:
        yield from _walk(fitting[0], raw, path, doc)
    else:
        yield from _read(found, raw, path, doc)


def _read(found: Reader, raw: Raw, path: str, doc: str) -> Iterator[Violation]:
    """Yield what the lenient reader, which looks for the first error only, says about a value."""
    try:
        found.read_leniently(raw, path)
    except MalformedValue as error:
        expected = error.problem.removeprefix("expected ")
        received = _received(raw) if error.path == path else ""
        yield Violation(error.path, expected, received, doc)


def _reads(found: Reader, raw: Raw) -> bool:
    """Return whether a value is an unknown variant by its second tag, which is allowed."""
    try:
        return isinstance(found.read_leniently(raw, ""), Unknown)
    except MalformedValue:
        return False


def _members(raw: Raw) -> dict[str, Raw]:
    return msgspec.json.decode(raw, type=dict[str, Raw])


def _items(raw: Raw) -> list[Raw]:
    return msgspec.json.decode(raw, type=list[Raw])


def _text(raw: Raw) -> str:
    return msgspec.json.decode(raw, type=str) if _start(raw) == b'"' else ""


def _start(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _received(raw: Raw) -> str:
    text = bytes(memoryview(raw)[: 4 * _MAX_RECEIVED_CHARS]).decode(errors="replace")
    return text if len(text) <= _MAX_RECEIVED_CHARS else f"{text[: _MAX_RECEIVED_CHARS - 1]}…"
