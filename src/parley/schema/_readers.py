"""Readers of the second pass, which read values that the strict decoder rejects.

An object is split into its keys and a list into its items, all still bytes. Each part is tried with
the strict decoder of its own type, and is split further only if that fails. Therefore parts are
read by the same rules in both passes, an unknown variant keeps its exact bytes, and the place of
an error is known. `_lenient.py` chooses the reader for each type; `base.py` describes what happens
to invalid values.
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
from .base import ALL_OR_DEFAULT, LENIENT, NULL_DEFAULT, SKIP_INVALID, STRICT, Formerly, Unknown

NUMBER_START = b"-0123456789"
ANY_START = b'{["tfn' + NUMBER_START
_OBJECT = dict[str, Raw]
_ARRAY = list[Raw]
_LENIENCY = frozenset((LENIENT, NULL_DEFAULT, SKIP_INVALID, STRICT, ALL_OR_DEFAULT))
_LARGEST_EXACT = 2**53  # up to here a float represents every integer exactly


class _UnknownTag(MalformedValue):
    """The second tag of an object is not recognized; an open union reads it as `Unknown`."""

    def __init__(self, path: str, problem: str, value: str) -> None:
        super().__init__(path, problem)
        self.value = value


class Reader:
    """A lenient reader for values of one type; this base class reads types without parts."""

    def __init__(self, tp: Any, expects: str, starts: bytes) -> None:
        self.tp = tp
        self.expects = expects
        """A description of the expected value, for error messages."""
        self.starts = starts
        """The possible first bytes of JSON values of this type."""

    @cached_property
    def exact(self) -> Callable[[Raw], Any]:
        """The strict decoder of the type."""
        return decoders[self.tp]

    def read(self, raw: Raw, path: str) -> Any:
        """Read a value strictly and, if that fails, leniently."""
        try:
            return self.exact(raw)
        except ValidationError:
            pass
        return self.read_leniently(raw, path)

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects; in a list, `skip` drops invalid items."""
        raise self.error(path)

    def error(self, path: str) -> MalformedValue:
        """Return an error that describes the expected value."""
        return MalformedValue(path, f"expected {self.expects}")


class IntegerReader(Reader):
    """A reader for integers: `1.0` is an integer in JSON, but not for the strict decoder."""

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        with suppress(DecodeError):
            number = decoders[float](raw)
            if number.is_integer() and abs(number) <= _LARGEST_EXACT:
                return msgspec.convert(int(number), self.tp)
        raise self.error(path)


_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
}  # fmt: skip
"""The signals that have the same number on Linux, macOS and the BSDs."""


class SignalReader(Reader):
    """A reader for signal names that also accepts signal numbers."""

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        with suppress(DecodeError):
            number: int = decoders[int](raw)
            if number > 0:
                return _SIGNALS.get(number, str(number))
        raise self.error(path)


class LiteralReader(Reader):
    """A reader for enumerations whose unknown values are replaced by a known one."""

    def __init__(self, tp: Any, expects: str, default: str) -> None:
        super().__init__(tp, expects, b'"')
        self.default = default

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        if _start(raw) != b'"':
            raise self.error(path)
        return self.default


class SecondTagReader(Reader):
    """A reader for a field that, in addition to the tag, determines the variant of an object."""

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        with suppress(ValidationError):
            raise _UnknownTag(path, f"expected {self.expects}", decoders[str](raw))
        raise self.error(path)


class ListReader(Reader):
    """A reader for lists, item by item."""

    def __init__(self, tp: Any, expects: str, item: Reader, least: int) -> None:
        super().__init__(tp, expects, b"[")
        self.item = item
        self.least = least

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
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
                values.append(self.item.read_leniently(part, f"{path}[{index}]"))
            except MalformedValue:
                if not skip:
                    raise
        if len(values) < self.least:
            raise self.error(path)
        return values


class MapReader(Reader):
    """A reader for maps, value by value."""

    def __init__(self, tp: Any, expects: str, value: Reader) -> None:
        super().__init__(tp, expects, b"{")
        self.value = value

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        parts = _parts(raw, path)
        # The keys come from the peer, and an error never quotes what the peer sent.
        return {key: self.value.read(part, f"{path}[...]") for key, part in parts.items()}


class Field:
    """A reader for one field of an object, with the fallback for invalid values."""

    def __init__(self, owner: type[Struct], info: FieldInfo, reader: Reader) -> None:
        bare, notes = unwrap(info.type)
        mark = next((note for note in notes if note in _LENIENCY), None)
        self.name = info.name
        self.key = info.encode_name
        self.former = next((note for note in notes if isinstance(note, Formerly)), None)
        self.reader = reader
        self.is_required = info.required
        # An unmarked field with a default is lenient; see the table in `base.py`.
        by_shape = mark is None and not info.required
        self.skip = by_shape or mark is LENIENT or mark is SKIP_INVALID
        self.falls_back = by_shape or mark is LENIENT or mark is ALL_OR_DEFAULT
        self.null_falls_back = mark is NULL_DEFAULT
        self.empty = get_origin(bare)
        needs_empty = info.required and (self.falls_back or self.null_falls_back)
        if needs_empty and self.empty not in (list, dict):
            raise TypeError(
                f"{owner.__name__}.{info.name}: {mark} needs a list, a map or a default"
            )

    def find(self, parts: Mapping[str, Raw]) -> tuple[str, Raw | None]:
        """Return the key that holds the value, and the value or None.

        The key of an older draft is used only if the current one is absent.
        """
        raw, former = parts.get(self.key), self.former
        if raw is not None or former is None:
            return self.key, raw
        raw = parts.get(former.key)
        if former.absent is not None and (raw is None or _start(raw) == b"n"):
            return self.key, Raw(former.absent)
        return self.key if raw is None else former.key, raw

    def read(self, raw: Raw | None, path: str) -> Any:
        """Return the value, or `NODEFAULT` to use the default of the field."""
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
            return self.reader.read_leniently(raw, path, skip=self.skip)
        except MalformedValue:
            if not self.falls_back:
                raise
        return self._fallback()

    def _fallback(self) -> Any:
        return self.empty() if self.is_required else NODEFAULT


Fields: TypeAlias = Callable[[type[Struct]], Sequence[Field]]


class ObjectReader(Reader):
    """A reader for objects, field by field."""

    def __init__(self, tp: Any, struct: type[Struct], fields: Fields) -> None:
        super().__init__(tp, "object", b"{")
        self.struct = struct
        self.fields = fields

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        parts = _parts(raw, path)
        config = self.struct.__struct_config__
        tag_field = config.tag_field or ""
        if tag_field in parts and config.tag and _tag(parts, tag_field) != config.tag:
            raise MalformedValue(f"{path}.{tag_field}", f"expected {config.tag}")
        return self.build(parts, path)

    def build(self, parts: Mapping[str, Raw], path: str) -> Any:
        """Build the object from its parts."""
        values: dict[str, Any] = {}
        for field in self.fields(self.struct):
            key, raw = field.find(parts)
            value = field.read(raw, f"{path}.{key}")
            if value is not NODEFAULT:
                values[field.name] = value
        try:
            return self.struct(**values)
        except ValueError as error:
            problem = str(error)
        raise MalformedValue(path, problem)


class Variants:
    """The members of a union that are distinguished by one tag field."""

    def __init__(
        self,
        tag_field: str,
        objects: Mapping[str, ObjectReader],
        is_open: bool,
        former: Mapping[str, ObjectReader],
    ) -> None:
        self.tag_field = tag_field
        self.objects = objects
        self.former = former
        """The members by the tags that they had in older drafts."""
        self.is_open = is_open

    def find(self, parts: Mapping[str, Raw], raw: Raw, path: str) -> Any:
        """Return the value as the variant that its tag names, or `NODEFAULT` if there is none."""
        tag = _tag(parts, self.tag_field)
        if tag is None:
            return NODEFAULT
        known = self.objects.get(tag)
        if known is None:
            return self._read_former(tag, parts, raw, path)
        try:
            return known.build(parts, path)
        except _UnknownTag as error:
            is_own = error.path.rpartition(".")[0] == path  # not of an object nested in this one
            if not self.is_open or not is_own:
                raise
            return _unknown(error.value, raw)

    def _read_former(self, tag: str, parts: Mapping[str, Raw], raw: Raw, path: str) -> Any:
        """Read a variant with an unrecognized tag, as a variant of an older draft if it is one."""
        if tag in self.former:
            with suppress(MalformedValue):
                return self.former[tag].build(parts, path)
        return _unknown(tag, raw) if self.is_open else NODEFAULT


class TaggedUnionReader(Reader):
    """A reader for unions in which every value has a tag."""

    def __init__(self, tp: Any, variants: Variants) -> None:
        super().__init__(tp, "object", b"{")
        self.variants = variants

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
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


class UntaggedUnionReader(Reader):
    """A reader for unions in which a value may have no tag."""

    def __init__(self, tp: Any, variants: Sequence[Variants], plain: Sequence[Reader]) -> None:
        super().__init__(tp, one_of(map(_name, plain)) or "object", ANY_START)
        self.variants = variants
        self.plain = plain

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        parts = _parts(raw, path) if _start(raw) == b"{" else {}
        for variants in self.variants:
            variant = variants.find(parts, raw, path)
            if variant is not NODEFAULT:
                return variant
        for reader in self.plain:  # an exact match is preferred to a lenient one
            with suppress(ValidationError):
                return reader.exact(raw)
        if len(self.plain) == 1:
            return self.plain[0].read_leniently(raw, path)
        for reader in self.plain:
            with suppress(MalformedValue):
                return reader.read_leniently(raw, path)
        raise self.error(path)


class UnionReader(Reader):
    """A reader for unions whose members start with different bytes in JSON."""

    def __init__(self, tp: Any, readers: Sequence[Reader]) -> None:
        starts = b"".join(reader.starts for reader in readers)
        super().__init__(tp, one_of(reader.expects for reader in readers), starts)
        self.readers = readers

    def read_leniently(self, raw: Raw, path: str, *, skip: bool = False) -> Any:
        """Read a value that the strict decoder rejects."""
        fitting = [reader for reader in self.readers if _start(raw) in reader.starts]
        if len(fitting) == 1:
            return fitting[0].read_leniently(raw, path, skip=skip)
        raise self.error(path)


def one_of(alternatives: Iterable[Any]) -> str:
    """Return the distinct alternatives, joined with "or"."""
    return " or ".join(dict.fromkeys(str(value) for value in alternatives))


def _name(reader: Reader) -> str:
    if isinstance(reader, ListReader):
        return f"array of {_name(reader.item)}"
    return reader.struct.__name__ if isinstance(reader, ObjectReader) else reader.expects


def _start(raw: Raw) -> bytes:
    return bytes(memoryview(raw)[:1])


def _parts(raw: Raw, path: str) -> dict[str, Raw]:
    if _start(raw) != b"{":
        raise MalformedValue(path, "expected object")
    parts: dict[str, Raw] = decoders[_OBJECT](raw)
    return parts


def _tag(parts: Mapping[str, Raw], tag_field: str) -> str | None:
    """Return the tag of an object, or None if it is missing or not a string."""
    raw = parts.get(tag_field)
    if raw is None or _start(raw) != b'"':
        return None
    tag: str = decoders[str](raw)
    return tag


def _unknown(tag: str, raw: Raw) -> Unknown:
    """Return an unrecognized variant with its original bytes."""
    kept = bytes(raw)
    kept.decode()  # nothing else has checked yet that its strings are UTF-8
    return Unknown(tag, kept)
