"""The file format of a recording, as pure functions on bytes.

The first line is the header, a JSON object with the fields of `Header`. Records follow. A chunk is
a line of JSON with the number of bytes, then these bytes, then a newline; an event is one line:

```
{"recording":1,"key":"20261119-211530-opencode-1a2b3c","name":"opencode","command":["opencode","acp"],…}
{"at":0.012,"from":"client","bytes":59}
{"jsonrpc":"2.0","id":0,"method":"initialize","params":{…}}

{"at":9.1,"event":"exited","code":0}
```

A chunk holds whole lines of one stream; only the last chunk of a stream may end without a newline.
Records are only appended. A process that is killed leaves a record that is cut off at the end of
the file; readers ignore it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from parley.errors import RecordingError

Source: TypeAlias = Literal["client", "agent", "stderr"]
"""Who wrote the bytes: the client, the agent, or the agent on its stderr."""

FORMAT = 1
_MAX_LINE_BYTES = 1024 * 1024
"""The maximum length of the header and of the JSON line of a record."""


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of a recording: which connection it is."""

    recording: int = field(default=FORMAT)
    """The version of the format."""
    key: str
    """The name of the recording: the time in UTC, the name and a random suffix."""
    name: str
    """The name of the agent."""
    command: list[str] = []
    """The command of the agent, without its secrets; empty if no process was started."""
    cwd: str = ""
    """The working directory of the agent."""
    pid: int = 0
    """The process that made the recording."""
    started_at: float
    """When the recording began, as Unix time."""
    parley: str = ""
    """The version of Parley that made the recording."""
    hop: str = ""
    """The part of a chain of proxies that was recorded, such as `client → proxy 1`."""
    chain: str = ""
    """What the recordings of one chain have in common; empty if there is no chain."""


class Chunk(Struct, frozen=True):
    """Bytes of one stream, as they were read: whole lines, except at the end of the stream."""

    at: float
    """Seconds since the recording began."""
    source: Source
    data: bytes


class RecordedEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened other than bytes in a stream."""

    at: float
    """Seconds since the recording began."""
    event: Literal["started", "closed", "exited", "signal", "failed", "masked", "lost"]
    """What happened:

    - `started`: the agent's process runs; `pid`.
    - `closed`: the stream `source` has ended; after `stderr` only when the agent closed it.
    - `exited`: the agent ended, with `code` or by `signal`.
    - `signal`: `signal` was sent to the agent.
    - `failed`: the agent could not be started; `reason`.
    - `masked`: in `source`, secrets of the kind `what` were masked `times` times. Several events of
      one kind add up.
    - `lost`: `size` bytes of `source` are not in the recording; `reason`.
    """
    source: Source | None = field(default=None, name="from")
    pid: int | None = None
    code: int | None = None
    signal: str | None = None
    what: str | None = None
    times: int | None = None
    size: int | None = field(default=None, name="bytes")
    reason: str | None = None


class _Line(RecordedEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The JSON line of a record: a chunk has no `event`."""

    event: str = ""  # type: ignore[assignment] # the events of later versions, too


_encoder = msgspec.json.Encoder()
_line_decoder = msgspec.json.Decoder(_Line)
_event_decoder = msgspec.json.Decoder(RecordedEvent)
_header_decoder = msgspec.json.Decoder(Header)


def encode_header(header: Header) -> bytes:
    """Return the first line of a recording."""
    # `recording` comes first and is never left out, so that a reader recognizes the file.
    line = _encoder.encode(header)
    return b'{"recording":%d,' % header.recording + line[1:] + b"\n"


def encode_chunk(at: float, source: Source, data: bytes) -> bytes:
    """Return the record of a chunk."""
    return b'{"at":%.6f,"from":"%b","bytes":%d}\n%b\n' % (at, source.encode(), len(data), data)


def encode_event(event: RecordedEvent) -> bytes:
    """Return the record of an event."""
    return _encoder.encode(event) + b"\n"


class Parser:
    """Parses a recording piece by piece.

    Feed it bytes and iterate over the records that are complete; `header` is set after the first
    line.
    """

    def __init__(self) -> None:
        self.header: Header | None = None
        self._buffer = bytearray()
        self._start = 0
        """The beginning of the first record that was not returned."""
        self._offset = 0
        """The position of the buffer in the file."""

    @property
    def position(self) -> int:
        """The position in the file after the record that was returned last.

        The data of a chunk ends one byte before it.
        """
        return self._offset + self._start

    def feed(self, data: bytes) -> Iterator[Chunk | RecordedEvent]:
        """Add bytes and yield the records that they complete.

        Events that this version does not know are skipped.

        Raises:
            RecordingError: The bytes are not a recording, or are damaged from here on.
        """
        self._buffer += data
        while (record := self._next()) is not None:
            if not isinstance(record, Header):
                yield record
        del self._buffer[: self._start]
        self._offset += self._start
        self._start = 0

    def _next(self) -> Header | Chunk | RecordedEvent | None:
        """Take a record from the buffer; None if none is complete."""
        while True:
            end = self._buffer.find(b"\n", self._start)
            if end < 0:
                if len(self._buffer) - self._start > _MAX_LINE_BYTES:
                    raise self._damaged()
                return None
            line = bytes(self._buffer[self._start : end])
            if self.header is None:
                self.header = self._parse_header(line)
                self._start = end + 1
                return self.header
            found = self._parse_line(line)
            if found.event:
                self._start = end + 1
                event = _known_event(line)
                if event is not None:
                    return event
                continue
            return self._chunk(found, end + 1)

    def _chunk(self, line: _Line, start: int) -> Chunk | None:
        if line.source is None or line.size is None or line.size < 0:
            raise self._damaged()
        end = start + line.size
        if end >= len(self._buffer):
            return None
        if self._buffer[end] != ord("\n"):
            raise self._damaged()
        data = bytes(self._buffer[start:end])
        self._start = end + 1
        return Chunk(line.at, line.source, data)

    def _parse_line(self, line: bytes) -> _Line:
        try:
            return _line_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._damaged() from None

    def _parse_header(self, line: bytes) -> Header:
        try:
            header = _header_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            header = None
        if header is None or not line.startswith(b'{"recording":'):
            raise RecordingError("this is not a recording: its first line is not a header")
        if header.recording != FORMAT:
            raise RecordingError(
                f"this recording has the format {header.recording}, and this version of Parley "
                f"reads format {FORMAT}. Update Parley to read it."
            )
        return header

    def _damaged(self) -> RecordingError:
        return RecordingError(f"the recording is damaged at byte {self._offset + self._start}")


def _known_event(line: bytes) -> RecordedEvent | None:
    try:
        return _event_decoder.decode(line)
    except msgspec.DecodeError:
        return None
