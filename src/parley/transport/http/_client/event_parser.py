"""An incremental parser for server-sent events.

Our servers send many events of one line each in one chunk. These are not parsed one by one: they
become one `EventBlock` of lines, which is passed on as it is. Everything else is parsed line by
line, by the rules of the specification.

Two fields are our own: `after` names what the message must not overtake; `end` stands alone and
says why nothing more will arrive on any stream of the connection. The data of an event that is too
long is an `OversizedFrame`.
Spec: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple, TypeAlias

from parley.rpc._framing import (
    EDGE_BYTES,
    Frame,
    FrameSplitter,
    OversizedFrame,
)

_JOIN_BYTES = 64 * 1024
_FIELD_BYTES = 64
"""Allowance for the field name and other text besides the data in a line."""
_FIRST = re.compile(rb"(?:id: (\d{1,18})\n)?data: ")
_BETWEEN = re.compile(rb"\n\n(?:id: \d{1,18}\n)?data: ")
_LAST_ID = b"\nid: "
_ID_DIGITS = 18


def parse_id(text: bytes) -> int:
    """Return the id of an event as a number, or 0 if it is not one or has too many digits."""
    return int(text) if text.isdigit() and len(text) <= _ID_DIGITS else 0


class ServerSentEvent(NamedTuple):
    """One server-sent event."""

    data: Frame
    id: bytes
    """The last event id as of this event; empty if there was none."""
    type: bytes = b""
    """The event type; empty means `message`."""
    after: bytes = b""
    """The raw `after` field: the id and session of the event that must be delivered first."""


class EventBlock(NamedTuple):
    """Several messages from one chunk, one line each."""

    lines: bytes
    """The lines, each with its newline."""
    size: int
    """The number of lines."""
    id: bytes
    """The last event id; empty if there was none."""


Item: TypeAlias = ServerSentEvent | EventBlock


class EventParser:
    """Parses the bytes of one event stream."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self.last_id = b""
        """The id of the last event, from which to resume after an interruption."""
        self.retry_after: float | None = None
        """The reconnection time that the server requested, in seconds."""
        self.end: str | None = None
        """The server's reason for ending the connection, if it sent one."""
        self._incomplete = b""
        self._has_started = False
        self._ends_with_cr = False
        self._lines = FrameSplitter(limit_bytes + _FIELD_BYTES)
        self._is_in_event = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._tail: bytes | None = None
        self._id: bytes | None = None
        self._type = b""
        self._after = b""
        self._has_fields = False

    def feed(self, data: bytes, *, single_events: bool = False) -> list[Item]:
        """Parse the next bytes and return the events that they complete.

        Args:
            data: The bytes.
            single_events: Whether to return single events only, not blocks.
        """
        data = self._normalize(data)
        if self._is_in_event:
            return self._parse_lines(data)
        complete, rest = self._split_complete(self._incomplete + data if self._incomplete else data)
        items: list[Item] = []
        if complete:
            block = None if single_events else self._block(complete)
            items = [block] if block is not None else self._parse_lines(complete)
        if len(rest) > _JOIN_BYTES or self._is_in_event:
            self._incomplete = b""
            items += self._parse_lines(rest)
        else:
            self._incomplete = rest
        return items

    def _normalize(self, data: bytes) -> bytes:
        """Strip a BOM at the start of the stream, and normalize line endings to LF."""
        if not self._has_started:
            data = self._incomplete + data
            self._incomplete = b""
            if len(data) < 3 and codecs.BOM_UTF8.startswith(data):
                self._incomplete = data
                return b""
            self._has_started = True
            data = data.removeprefix(codecs.BOM_UTF8)
        if self._ends_with_cr and data:
            self._ends_with_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._ends_with_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _split_complete(self, data: bytes) -> tuple[bytes, bytes]:
        """Split after the last complete event."""
        if not self._has_started:
            return b"", data
        offset = data.rfind(b"\n\n")
        end = 0 if offset < 0 else offset + 2
        return data[:end], data[end:]

    def _block(self, complete: bytes) -> EventBlock | None:
        """Return events of one line each as a block, or None if there is anything else."""
        first = _FIRST.match(complete)
        if first is None or len(complete) > self._limit:
            return None
        parts = _BETWEEN.split(complete[first.end() : -2])
        lines = b"\n".join(parts) + b"\n"
        # A newline within a part means further fields or lines of data in an event.
        if lines.count(b"\n") != len(parts):
            return None
        offset = complete.rfind(_LAST_ID) + len(_LAST_ID)
        if offset >= len(_LAST_ID):
            self.last_id = complete[offset : complete.index(b"\n", offset)]
        elif first[1] is not None:
            self.last_id = first[1]
        return EventBlock(lines, len(parts), self.last_id)

    def _parse_lines(self, data: bytes) -> list[Item]:
        """Parse line by line, and return the completed events."""
        events: list[Item] = []
        for line in self._lines.feed(data):
            if line:
                self._parse_field(line)
            elif (event := self._dispatch()) is not None:
                events.append(event)
        self._is_in_event = bool(self._data or self._has_fields or self._lines.pending_bytes)
        return events

    def _parse_field(self, line: Frame) -> None:
        self._has_fields = True
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._append_data(line, bytes(value))
        elif name == b"id" and b"\0" not in value:
            self._id = bytes(value)
        elif name == b"event":
            self._type = bytes(value)
        elif name == b"after":
            self._after = bytes(value)
        elif name == b"end":
            self.end = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_after = int(value) / 1000

    def _append_data(self, line: Frame, value: bytes) -> None:
        """Append a line of data, keeping only the two ends of an event that is too long."""
        self._data_bytes += len(value) + 1
        is_over = isinstance(line, OversizedFrame) or self._data_bytes - 1 > self._limit
        if not is_over and self._tail is None:
            self._data.append(value)
            return
        ending = line.tail if isinstance(line, OversizedFrame) else value
        if self._tail is None:
            head = b"\n".join([*self._data, value])
            self._data = [head[:EDGE_BYTES]]
            self._tail = head[-EDGE_BYTES:]
        self._tail = (self._tail + ending)[-EDGE_BYTES:]

    def _dispatch(self) -> ServerSentEvent | None:
        """Complete an event; one without data only sets the last id."""
        self.last_id = self._id if self._id is not None else self.last_id
        event = None
        if self._data:
            data: Frame = b"\n".join(self._data)
            if self._tail is not None:
                data = OversizedFrame(data, self._tail, self._limit)
            event = ServerSentEvent(data, self.last_id, self._type, self._after)
        self._reset_event()
        return event

    def _reset_event(self) -> None:
        self._data = []
        self._data_bytes = 0
        self._tail = None
        self._id = None
        self._type = b""
        self._after = b""
        self._has_fields = False
