"""How the second pass takes values apart that the strict decoder refuses.

An object is split into its keys and a list into its items, all still bytes. Each part is tried with
the strict decoder of its own type, and is taken apart further only when that fails. So parts are
read by the same rules in both passes, an unknown variant keeps its exact bytes, and the place of
an error is known. Which reader reads which type is worked out in `_lenient.py`; what happens to a
wrong value is told in `base.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeAlias, get_origin

import msgspec
from msgspec import NODEFAULT, DecodeError, Raw, Struct, ValidationError
from msgspec.structs import FieldInfo

from parley.errors import MalformedValue

from ._strict import decoders, unwrap
from .base import LENIENT, NULL_DEFAULT, SKIP_INVALID, STRICT, WHOLE, Unknown

__all__ = [
    "ANY_START",
    "NUMBER_START",
    "Field",
    "Integer",
    "List",
    "Map",
    "Object",
    "Reader",
    "SecondTag",
    "Tagged",
    "Union",
    "Untagged",
    "Variants",
    "Words",
    "one_of",
]

NUMBER_START = b"-0123456789"
ANY_START = b'{["tfn' + NUMBER_START
_OBJECT = dict[str, Raw]
_ARRAY = list[Raw]
_LENIENCY = frozenset((LENIENT, NULL_DEFAULT, SKIP_INVALID, STRICT, WHOLE))
_LARGEST_EXACT = 2**53  # up to here every integer has a float of its own


class _UnknownWord(MalformedValue):
    """The second tag of an object is not known; in an open union the object is then `Unknown`."""

    def __init__(self, path: str, problem: str, word: str) -> None:
        super().__init__(path, problem)
        self.word = word


class Reader:
    """Reads values of one type; by itself one that has no parts."""

    def __init__(self, tp: Any, expects: str, starts: bytes) -> None:
        self.tp = tp
        self.expects = expects
        """What the type asks for, in words."""
        self.starts = starts
        """The first bytes of the JSON values that may fit."""

    @cached_property
    def exact(self) -> Callable[[Raw], Any]:
        """The strict decoder of the type."""
        return decoders[self.tp]

    def read(self, raw: Raw, path: str) -> Any:
        """Read a value."""
        try:
            return self.exact(raw)
        except ValidationError:
            pass
        return self.take_apart(raw, path)

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses; in a list, `skip` drops the bad items."""
        raise self.error(path)

    def error(self, path: str) -> MalformedValue:
        """Return the error that says what is expected."""
        return MalformedValue(path, f"expected {self.expects}")


class Integer(Reader):
    """To JSON, `1.0` is an integer; to the strict decoder it is not."""

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        with suppress(DecodeError):
            number = decoders[float](raw)
            if number.is_integer() and abs(number) <= _LARGEST_EXACT:
                return msgspec.convert(int(number), self.tp)
        raise self.error(path)


class Words(Reader):
    """Reads a word of which the unknown ones have a substitute."""

    def __init__(self, tp: Any, expects: str, otherwise: str) -> None:
        super().__init__(tp, expects, b'"')
        self.otherwise = otherwise

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        if _start(raw) != b'"':
            raise self.error(path)
        return self.otherwise


class SecondTag(Reader):
    """Reads a field that, beside the tag, says which variant this is."""

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        with suppress(ValidationError):
            raise _UnknownWord(path, f"expected {self.expects}", decoders[str](raw))
        raise self.error(path)


class List(Reader):
    """Reads a list, item by item."""

    def __init__(self, tp: Any, expects: str, item: Reader, least: int) -> None:
        super().__init__(tp, expects, b"[")
        self.item = item
        self.least = least

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        if _start(raw) != b"[":
            raise self.error(path)
        parts: list[Raw] = decoders[_ARRAY](raw)
        exact = self.item.exact
        values: list[Any] = []
        for index, part in enumerate(parts):
            try:
                values.append(exact(part))
                continue
            except ValidationError:
                pass
            try:
                values.append(self.item.take_apart(part, f"{path}[{index}]"))
            except MalformedValue:
                if not skip:
                    raise
        if len(values) < self.least:
            raise self.error(path)
        return values


class Map(Reader):
    """Reads a map, value by value."""

    def __init__(self, tp: Any, expects: str, value: Reader) -> None:
        super().__init__(tp, expects, b"{")
        self.value = value

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        parts = _parts(raw, path)
        # The keys are the peer's, and an error never repeats what the peer sent.
        return {key: self.value.read(part, f"{path}[...]") for key, part in parts.items()}


class Field:
    """Reads one field, and knows what to do when that fails."""

    def __init__(self, owner: type[Struct], info: FieldInfo, reader: Reader) -> None:
        bare, notes = unwrap(info.type)
        mark = next((note for note in notes if note in _LENIENCY), None)
        self.name = info.name
        self.key = info.encode_name
        self.reader = reader
        self.is_required = info.required
        by_shape = mark is None and not info.required
        self.skip = by_shape or mark is LENIENT or mark is SKIP_INVALID
        self.falls_back = by_shape or mark is LENIENT or mark is WHOLE
        self.null_falls_back = mark is NULL_DEFAULT
        self.empty = get_origin(bare)
        needs_empty = info.required and (self.falls_back or self.null_falls_back)
        if needs_empty and self.empty not in (list, dict):
            raise TypeError(
                f"{owner.__name__}.{info.name}: {mark} needs a list, a map or a default"
            )

    def read(self, raw: Raw | None, path: str) -> Any:
        """Return the value, or `NODEFAULT` where the default of the field is to be taken."""
        if raw is None:
            if self.is_required:
                raise MalformedValue(path, "required")
            return NODEFAULT
        try:
            return self.reader.exact(raw)
        except ValidationError:
            pass
        if self.null_falls_back and _start(raw) == b"n":
            return self._fallback()
        try:
            return self.reader.take_apart(raw, path, skip=self.skip)
        except MalformedValue:
            if not self.falls_back:
                raise
        return self._fallback()

    def _fallback(self) -> Any:
        return self.empty() if self.is_required else NODEFAULT


Fields: TypeAlias = Callable[[type[Struct]], Sequence[Field]]


class Object(Reader):
    """Reads an object, field by field."""

    def __init__(self, tp: Any, struct: type[Struct], fields: Fields) -> None:
        super().__init__(tp, "object", b"{")
        self.struct = struct
        self.fields = fields

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        parts = _parts(raw, path)
        config = self.struct.__struct_config__
        tag_field = config.tag_field or ""
        if tag_field in parts and config.tag and _tag(parts, tag_field) != config.tag:
            raise MalformedValue(f"{path}.{tag_field}", f"expected {config.tag}")
        return self.build(parts, path)

    def build(self, parts: Mapping[str, Raw], path: str) -> Any:
        """Make the object from its parts."""
        values: dict[str, Any] = {}
        for field in self.fields(self.struct):
            value = field.read(parts.get(field.key), f"{path}.{field.key}")
            if value is not NODEFAULT:
                values[field.name] = value
        try:
            return self.struct(**values)
        except ValueError as error:
            problem = str(error)
        raise MalformedValue(path, problem)


class Variants:
    """The members of a union that one tag field tells apart."""

    def __init__(self, tag_field: str, objects: Mapping[str, Object], is_open: bool) -> None:
        self.tag_field = tag_field
        self.objects = objects
        self.is_open = is_open

    def find(self, parts: Mapping[str, Raw], raw: Raw, path: str) -> Any:
        """Return the variant that the tag names, or `NODEFAULT` if it names none."""
        tag = _tag(parts, self.tag_field)
        if tag is None:
            return NODEFAULT
        known = self.objects.get(tag)
        if known is None:
            return _unknown(tag, raw) if self.is_open else NODEFAULT
        try:
            return known.build(parts, path)
        except _UnknownWord as error:
            is_own = error.path.rpartition(".")[0] == path
            if not self.is_open or not is_own:
                raise
            return _unknown(error.word, raw)


class Tagged(Reader):
    """Reads a union of variants; each value has a tag."""

    def __init__(self, tp: Any, variants: Variants) -> None:
        super().__init__(tp, "object", b"{")
        self.variants = variants

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        parts = _parts(raw, path)
        variant = self.variants.find(parts, raw, path)
        if variant is not NODEFAULT:
            return variant
        path = f"{path}.{self.variants.tag_field}"
        if self.variants.tag_field not in parts:
            raise MalformedValue(path, "required")
        if self.variants.is_open:
            raise MalformedValue(path, "expected string")
        raise MalformedValue(path, f"expected {one_of(self.variants.objects)}")


class Untagged(Reader):
    """Reads a union in which a value may have no tag."""

    def __init__(self, tp: Any, variants: Sequence[Variants], plain: Sequence[Reader]) -> None:
        super().__init__(tp, one_of(map(_name, plain)) or "object", ANY_START)
        self.variants = variants
        self.plain = plain

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        parts = _parts(raw, path) if _start(raw) == b"{" else {}
        for variants in self.variants:
            variant = variants.find(parts, raw, path)
            if variant is not NODEFAULT:
                return variant
        for reader in self.plain:
            with suppress(ValidationError):
                return reader.exact(raw)
        if len(self.plain) == 1:
            return self.plain[0].take_apart(raw, path)
        for reader in self.plain:
            with suppress(MalformedValue):
                return reader.take_apart(raw, path)
        raise self.error(path)


class Union(Reader):
    """Reads a union whose members begin differently in JSON."""

    def __init__(self, tp: Any, readers: Sequence[Reader]) -> None:
        starts = b"".join(reader.starts for reader in readers)
        super().__init__(tp, one_of(reader.expects for reader in readers), starts)
        self.readers = readers

    def take_apart(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder refuses."""
        fitting = [reader for reader in self.readers if _start(raw) in reader.starts]
        if len(fitting) == 1:
            return fitting[0].take_apart(raw, path, skip=skip)
        raise self.error(path)


def one_of(words: Iterable[Any]) -> str:
    """Return the words as an enumeration, each once."""
    return " or ".join(dict.fromkeys(str(word) for word in words))


def _name(reader: Reader) -> str:
    if isinstance(reader, List):
        return f"array of {_name(reader.item)}"
    return reader.struct.__name__ if isinstance(reader, Object) else reader.expects


def _start(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _parts(raw: Raw, path: str) -> dict[str, Raw]:
    if _start(raw) != b"{":
        raise MalformedValue(path, "expected object")
    parts: dict[str, Raw] = decoders[_OBJECT](raw)
    return parts


def _tag(parts: Mapping[str, Raw], tag_field: str) -> str | None:
    """Return the tag of an object; None if there is none or it is not a string."""
    raw = parts.get(tag_field)
    if raw is None or _start(raw) != b'"':
        return None
    tag: str = decoders[str](raw)
    return tag


def _unknown(tag: str, raw: Raw) -> Unknown:
    """Keep a variant that is not known, with its bytes."""
    kept = bytes(raw)
    kept.decode()  # nothing else has looked into its strings yet
    return Unknown(tag, kept)
