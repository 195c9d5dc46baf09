"""Recorded frames as JSON lines, one each.

A line is `{"at": seconds, "kind": "to_agent", "message": …}`; the kind is `to_agent`, `to_client`
or `note`. Frames that are not JSON have `base64` instead of `message`. Files of
`parley.testing.Recorder` are read too: there a line has a `direction`, as the client saw it. So are
exports of recordings (`parley tap export`): there a line is `from` the client or the agent, and may
be a `text`. The header, the events and stderr of a recording are skipped.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from ._base import Entry, Kind

_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_KINDS: dict[str, Kind] = {
    "inbound": "to_client",
    "outbound": "to_agent",
    "client": "to_agent",
    "agent": "to_client",
}


class _Line(Struct, omit_defaults=True):
    at: float
    kind: Kind | UnsetType = UNSET
    direction: Literal["inbound", "outbound"] | UnsetType = UNSET
    message: Raw | UnsetType = UNSET
    base64: bytes | UnsetType = UNSET
    text: str | UnsetType = UNSET
    source: Literal["client", "agent", "stderr"] | UnsetType = field(default=UNSET, name="from")


class _NoFrame(Struct):
    """The header or an event of a recording, or a line of stderr."""

    recording: int | UnsetType = UNSET
    event: str | UnsetType = UNSET
    source: str | UnsetType = field(default=UNSET, name="from")

    @property
    def is_skipped(self) -> bool:
        known = (self.recording, self.event)
        return self.source == "stderr" or any(each is not UNSET for each in known)


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
    lines = enumerate(text.split(b"\n"), 1)
    found = (_read(number, line) for number, line in lines if line.strip())
    return [each for each in found if each is not None]


def _read(number: int, text: bytes) -> Entry | None:
    """Read a line; None if it is a part of a recording that is not a frame."""
    try:
        if msgspec.json.decode(text, type=_NoFrame).is_skipped:
            return None
        line = msgspec.json.decode(text, type=_Line)
    except _NOT_JSON:
        raise ValueError(f"line {number} is not from a recorded session") from None
    origin = line.source if line.direction is UNSET else line.direction
    kind = line.kind if origin is UNSET else _KINDS[origin]
    data = line.text.encode() if isinstance(line.text, str) else line.base64
    data = bytes(line.message) if isinstance(line.message, Raw) else data
    if kind is UNSET or data is UNSET:
        raise ValueError(f"line {number} is not from a recorded session: fields are missing")
    return Entry(number, line.at, kind, data)
