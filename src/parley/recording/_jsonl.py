"""Recordings as JSON lines, for tools and for bug reports.

The first line is the header. Each line of a stream is a line here: `{"at": seconds, "from":
"client", "message": …}`. `message` holds the exact text of a line that is valid JSON without white
space around it. Any other line is `text` if it is valid UTF-8, else `base64`. `"newline": false`
marks the last line of a stream that does not end with a newline. Events are as in the recording.

The exports of the journal and the files of `parley.testing.Recorder` are read, too. Their lines
have a `kind` or a `direction` instead of `from`, and no header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.errors import RecordingError

from ._format import Header, RecordedEvent, Source, encode_event, encode_header
from ._reader import RecordedLine

_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_HEADER = b'{"recording":'
_JOURNAL_SOURCES: dict[str, Source] = {"to_agent": "client", "to_client": "agent"}
_RECORDER_SOURCES: dict[str, Source] = {"outbound": "client", "inbound": "agent"}


class _Line(Struct, omit_defaults=True):
    at: float
    source: Source | UnsetType = field(default=UNSET, name="from")
    message: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    newline: bool = True
    kind: Literal["to_agent", "to_client", "note"] | UnsetType = UNSET
    direction: Literal["inbound", "outbound"] | UnsetType = UNSET


def write_jsonl(header: Header, items: Iterable[RecordedLine | RecordedEvent]) -> Iterator[bytes]:
    """Yield the lines of an export, with their newlines."""
    yield encode_header(header)
    for item in items:
        if isinstance(item, RecordedEvent):
            yield encode_event(item)
        else:
            yield msgspec.json.encode(_line(item)) + b"\n"


def _line(item: RecordedLine) -> _Line:
    line = _Line(at=item.at, source=item.source, newline=item.has_newline)
    if _is_plain_json(item.data):
        line.message = Raw(item.data)
        return line
    try:
        line.text = item.data.decode()
    except UnicodeDecodeError:
        line.base64 = item.data
    return line


def _is_plain_json(data: bytes) -> bool:
    """Return whether a line can be a part of a line of JSON without a change."""
    if data != data.strip() or b"\r" in data:
        return False
    try:
        data.decode()
        msgspec.json.decode(data)
    except _NOT_JSON:
        return False
    return True


def read_jsonl(lines: Iterable[bytes]) -> Iterator[Header | RecordedLine | RecordedEvent]:
    """Yield the header, then the lines and events of an export.

    The notes of a journal are skipped.

    Raises:
        RecordingError: It is something else.
    """
    header: Header | None = None
    began = 0.0
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            if header is None:
                header, began = _first(text)
                yield header
                if text.startswith(_HEADER):
                    continue
            item = _item(text, began)
        except _NOT_JSON:
            item = None
        if item is None:
            raise RecordingError(f"line {number} is not from a recording or a journal")
        if item != "note":
            yield item


def _first(text: bytes) -> tuple[Header, float]:
    """Return the header, and what the times of the lines count from.

    A file without a header gets one. A journal has Unix times.
    """
    if text.startswith(_HEADER):
        return msgspec.json.decode(text, type=Header), 0.0
    line = msgspec.json.decode(text, type=_Line)
    return Header(key="", name="imported", started_at=line.at), line.at


def _item(text: bytes, began: float) -> RecordedLine | RecordedEvent | Literal["note"] | None:
    if b'"event"' in text:
        try:
            return msgspec.json.decode(text, type=RecordedEvent)
        except _NOT_JSON:
            pass  # the word is in a message
    line = msgspec.json.decode(text, type=_Line)
    if line.kind == "note":
        return "note"
    source, data = _source(line), _data(line)
    if source is None or data is None:
        return None
    return RecordedLine(round(line.at - began, 6), source, data, line.newline)


def _data(line: _Line) -> bytes | None:
    if isinstance(line.message, Raw):
        return bytes(line.message)
    if isinstance(line.text, str):
        return line.text.encode()
    return line.base64 if isinstance(line.base64, bytes) else None


def _source(line: _Line) -> Source | None:
    if isinstance(line.source, str):
        return line.source
    if isinstance(line.kind, str):
        return _JOURNAL_SOURCES.get(line.kind)
    return None if line.direction is UNSET else _RECORDER_SOURCES[line.direction]
