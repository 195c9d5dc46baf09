"""One frame in detail: its text, its type, what violates the schema, and what belongs to it."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.schema import v1, v2
from parley.schema.base import JsonObject

from ._row import Row
from ._sources import InspectedRecording
from ._validation import (
    Side,
    Violation,
    describe_type,
    params_type,
    result_type,
    violations,
)

MAX_TEXT_BYTES = 256 * 1024
"""The size of the part of a frame that is returned."""
_MAX_CHECKED_BYTES = 16 * 1024 * 1024
"""Larger frames are not checked again; their row says whether they are valid."""
_MAX_META_BYTES = 64 * 1024
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_TRACE = ("traceparent", "tracestate", "baggage")
_ERRORS: dict[int, Any] = {1: v1.Error, 2: v2.Error}


class TypeInfo(Struct, frozen=True):
    """The type of the params, of the result or of the error."""

    name: str
    version: int
    doc: str


class Detail(Struct, frozen=True):
    """A frame in detail; see `_app.py`."""

    row: Row
    text: str
    offset: int
    next_offset: int | None
    size: int
    is_utf8: bool
    type: TypeInfo | None
    violations: list[Violation]
    match: Row | None
    meta: JsonObject | None
    trace: dict[str, str] | None


class _Parts(Struct):
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _Meta(Struct):
    meta: Raw = msgspec.field(name="_meta", default=Raw())


def detail_of(recording: InspectedRecording, number: int, offset: int = 0) -> Detail:
    """Return a frame in detail.

    Args:
        recording: The recording.
        number: The number of its row.
        offset: The first byte of the text to return.

    Raises:
        RecordingError: The file cannot be read.
    """
    row = recording.table.rows[number - 1]
    text, end, is_utf8 = _text(recording, row, offset)
    parts = _parts(recording, row) if offset == 0 else None
    name, raw = (None, None) if parts is None else _content(parts)
    tp, version = _type_of(recording, row, name)
    meta = None if raw is None else _meta(raw)
    trace = {key: meta[key] for key in _TRACE if isinstance(meta.get(key), str)} if meta else {}
    return Detail(
        row=row,
        text=text,
        offset=offset,
        next_offset=end if end < row.size else None,
        size=row.size,
        is_utf8=is_utf8,
        type=None if tp is None else TypeInfo(describe_type(tp)[0], version, describe_type(tp)[1]),
        violations=violations(tp, raw or Raw(b"{}"), name or "params")
        if tp is not None and parts is not None
        else [],
        match=recording.table.rows[row.match - 1] if row.match else None,
        meta=meta,
        trace=trace or None,
    )


def _text(recording: InspectedRecording, row: Row, offset: int) -> tuple[str, int, bool]:
    """Return a part of a frame as text, where it ends, and whether it is UTF-8.

    A part does not end inside of a character.
    """
    data = recording.data(row.number, offset, MAX_TEXT_BYTES)
    end = offset + len(data)
    if end < row.size:
        last = len(data)
        while last > len(data) - 4 and last and data[last - 1] & 0xC0 == 0x80:
            last -= 1
        if last and data[last - 1] >= 0xC0:
            data = data[: last - 1]
            end = offset + len(data)
    try:
        return data.decode(), end, True
    except UnicodeDecodeError:
        return data.decode(errors="replace"), end, False


def _parts(recording: InspectedRecording, row: Row) -> _Parts | None:
    is_message = row.kind in ("request", "response", "error", "notification")
    if not is_message or row.size > _MAX_CHECKED_BYTES:
        return None
    try:
        return msgspec.json.decode(recording.data(row.number), type=_Parts)
    except _NOT_JSON:
        return None


def _content(parts: _Parts) -> tuple[str, Raw | None]:
    """Return what a message carries, and under which name."""
    for name in ("error", "result", "params"):
        raw: Raw | UnsetType = getattr(parts, name)
        if raw is not UNSET:
            return name, raw
    return "params", None


def _type_of(recording: InspectedRecording, row: Row, name: str | None) -> tuple[Any, int]:
    version = recording.table.schema_version(row)
    if name is None or version is None or row.source not in ("client", "agent"):
        return None, 0
    if name == "error":
        return _ERRORS[version], version
    if name == "result":
        return result_type(version, row.source, row.method), version
    to: Side = "agent" if row.source == "client" else "client"
    kind = cast(Literal["request", "notification"], row.kind)
    return params_type(version, kind, to, row.method), version


def _meta(raw: Raw) -> JsonObject | None:
    try:
        found = msgspec.json.decode(raw, type=_Meta).meta
        if not 0 < len(memoryview(found)) <= _MAX_META_BYTES:
            return None
        return msgspec.json.decode(found, type=dict[str, Any])
    except _NOT_JSON:
        return None
