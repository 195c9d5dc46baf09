"""Server-sent events out of bytes, whatever the pieces in which they arrive.

What our servers send, many events of one line each in one piece, is not taken apart: it becomes one
`Block` of lines, which is handed on as it is. Everything else takes the long way, line by line, by
the rules of the specification. `after` is a field of ours: what the message must not overtake; so
is `end`, which stands alone and says why nothing more comes on any stream of the connection. An
event that is longer than allowed is not kept: its data is an `Oversized` frame.
Spec: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple, TypeAlias

from parley.rpc.framing import EDGE_BYTES, Frame, FrameSplitter, Oversized

__all__ = ["Block", "Event", "EventParser", "Item", "parse_id"]

_JOIN_BYTES = 64 * 1024
_FIELD_BYTES = 64
"""What a line may have besides the data, at least."""
_FIRST = re.compile(rb"(?:id: (\d{1,18})\n)?data: ")
_BETWEEN = re.compile(rb"\n\n(?:id: \d{1,18}\n)?data: ")
_LAST_ID = b"\nid: "
_ID_DIGITS = 18


def parse_id(text: bytes) -> int:
    """Return the number of an event; 0 for what is none, or has more digits than anybody counts."""
    return int(text) if text.isdigit() and len(text) <= _ID_DIGITS else 0


class Event(NamedTuple):
    """One event."""

    data: Frame
    id: bytes
    """The last id that was seen up to here; empty if there was none."""
    type: bytes = b""
    """What kind it is; empty means a message."""
    after: bytes = b""
    """What it must not overtake, as the server wrote it."""


class Block(NamedTuple):
    """Many messages, one line each."""

    lines: bytes
    """Each with its newline."""
    size: int
    """How many."""
    id: bytes
    """The last id; empty if there was none."""


Item: TypeAlias = Event | Block


class EventParser:
    """Bytes in, events out."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self.last_id = b""
        """Where to go on after an interruption."""
        self.retry_after: float | None = None
        """How many seconds the server wants us to wait before that."""
        self.end: str | None = None
        """Why the server has ended the connection, if it has said so."""
        self._rest = b""
        self._has_begun = False
        self._ends_with_cr = False
        self._lines = FrameSplitter(limit_bytes + _FIELD_BYTES)
        self._is_inside = False
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._tail: bytes | None = None
        self._id: bytes | None = None
        self._type = b""
        self._after = b""
        self._has_fields = False

    def feed(self, data: bytes, *, is_careful: bool = False) -> list[Item]:
        """Take the next bytes and return what they finish.

        Args:
            data: The bytes.
            is_careful: Whether events are wanted one by one.
        """
        data = self._plain(data)
        if self._is_inside:
            return self._long_way(data)
        whole, rest = self._cut(self._rest + data if self._rest else data)
        items: list[Item] = []
        if whole:
            block = None if is_careful else self._block(whole)
            items = [block] if block is not None else self._long_way(whole)
        if len(rest) > _JOIN_BYTES or self._is_inside:
            self._rest = b""
            items += self._long_way(rest)
        else:
            self._rest = rest
        return items

    def _plain(self, data: bytes) -> bytes:
        """Leave out a BOM at the start, and make all ends of lines the same."""
        if not self._has_begun:
            data = self._rest + data
            self._rest = b""
            if len(data) < 3 and codecs.BOM_UTF8.startswith(data):
                self._rest = data
                return b""
            self._has_begun = True
            data = data.removeprefix(codecs.BOM_UTF8)
        if self._ends_with_cr and data:
            self._ends_with_cr = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._ends_with_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _cut(self, data: bytes) -> tuple[bytes, bytes]:
        """Split behind the last event that is whole."""
        if not self._has_begun:
            return b"", data
        place = data.rfind(b"\n\n")
        end = 0 if place < 0 else place + 2
        return data[:end], data[end:]

    def _block(self, whole: bytes) -> Block | None:
        """Read events of one line each; None if there is anything else."""
        first = _FIRST.match(whole)
        if first is None or len(whole) > self._limit:
            return None
        parts = _BETWEEN.split(whole[first.end() : -2])
        lines = b"\n".join(parts) + b"\n"
        if lines.count(b"\n") != len(parts):
            return None
        place = whole.rfind(_LAST_ID) + len(_LAST_ID)
        if place >= len(_LAST_ID):
            self.last_id = whole[place : whole.index(b"\n", place)]
        elif first[1] is not None:
            self.last_id = first[1]
        return Block(lines, len(parts), self.last_id)

    def _long_way(self, data: bytes) -> list[Item]:
        events: list[Item] = []
        for line in self._lines.feed(data):
            if line:
                self._field(line)
            elif (event := self._dispatch()) is not None:
                events.append(event)
        self._is_inside = bool(self._data or self._has_fields or self._lines.pending_bytes)
        return events

    def _field(self, line: Frame) -> None:
        self._has_fields = True
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._add(line, bytes(value))
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

    def _add(self, line: Frame, value: bytes) -> None:
        """Keep a line of data; of an event that is too long only the two ends."""
        self._data_bytes += len(value) + 1
        is_over = isinstance(line, Oversized) or self._data_bytes - 1 > self._limit
        if not is_over and self._tail is None:
            self._data.append(value)
            return
        ending = line.tail if isinstance(line, Oversized) else value
        if self._tail is None:
            head = b"\n".join([*self._data, value])
            self._data = [head[:EDGE_BYTES]]
            self._tail = head[-EDGE_BYTES:]
        self._tail = (self._tail + ending)[-EDGE_BYTES:]

    def _dispatch(self) -> Event | None:
        """End an event; one without data only sets the id."""
        self.last_id = self._id if self._id is not None else self.last_id
        event = None
        if self._data:
            data: Frame = b"\n".join(self._data)
            if self._tail is not None:
                data = Oversized(data, self._tail, self._limit)
            event = Event(data, self.last_id, self._type, self._after)
        self._forget_event()
        return event

    def _forget_event(self) -> None:
        self._data = []
        self._data_bytes = 0
        self._tail = None
        self._id = None
        self._type = b""
        self._after = b""
        self._has_fields = False
