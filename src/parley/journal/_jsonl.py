"""Recorded frames as JSON lines, one each.

A line is `{"at": seconds, "kind": "to_agent", "message": …}`; the kind is `to_agent`, `to_client`
or `note`. Frames that are not JSON have `base64` instead of `message`. Files of
`parley.testing.Recorder` are read too: there a line has a `direction`, as the client saw it.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ._base import Entry, Kind

_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_KINDS: dict[str, Kind] = {"inbound": "to_client", "outbound": "to_agent"}


class _Line(Struct, omit_defaults=True):
    at: float
    kind: Kind | UnsetType = UNSET
    direction: Literal["inbound", "outbound"] | UnsetType = UNSET
    message: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET


def write_line(entry: Entry) -> bytes:
    """Return an entry as a line, with its end."""
    line = _Line(at=round(entry.at, 6), kind=entry.kind)
    if _is_json(entry.data):
        line.message = Raw(entry.data)
    else:
        line.base64 = entry.data
    return msgspec.json.encode(line) + b"\n"


def _is_json(data: bytes) -> bool:
    """Return whether this survives as a part of a line."""
    if b"\n" in data or b"\r" in data:
        return False
    try:
        msgspec.json.decode(data)
    except _NOT_JSON:
        return False
    return True


def from_jsonl(text: bytes) -> list[Entry]:
    """Read lines as `to_jsonl` or `Recorder.save` wrote them.

    Raises:
        ValueError: They are something else.
    """
    return [_read(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _read(number: int, text: bytes) -> Entry:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except _NOT_JSON:
        raise ValueError(f"line {number} is not from a recorded session") from None
    kind = line.kind if line.direction is UNSET else _KINDS[line.direction]
    data = bytes(line.message) if isinstance(line.message, Raw) else line.base64
    if kind is UNSET or data is UNSET:
        raise ValueError(f"line {number} is not from a recorded session: fields are missing")
    return Entry(number, line.at, kind, data)
