"""Reading a recording, line by line, also while it is being written."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from parley.errors import RecordingError

from ._file_lock import is_locked
from ._format import Chunk, Header, Parser, RecordedEvent, Source

_READ_BYTES = 1024 * 1024
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class RecordedLine(Struct, frozen=True):
    """A line of one stream of a recorded connection; of the client and the agent, usually a frame.

    Not every line is a frame: an agent may write anything to its stdout.
    """

    at: float
    """Seconds since the recording began."""
    source: Source
    data: bytes
    """The exact bytes, without the newline at the end; secrets are masked."""
    has_newline: bool = True
    """Whether the line was ended; False only at the end of a stream."""

    @property
    def message(self) -> Any:
        """The parsed JSON; None if the line is not valid JSON."""
        try:
            return msgspec.json.decode(self.data)
        except _NOT_JSON:
            return None


class RecordingReader:
    """Reads a recording: yields its lines and events in the order in which they were recorded.

    ```python
    with RecordingReader(path) as reader:
        print(reader.header.name)
        for item in reader:
            ...
    ```

    The iteration ends at the present end of the file. Of a recording that is being written, another
    iteration continues there; `follow` waits for it. A record at the end that is cut off is
    ignored until it is complete.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a recording and read its header.

        Raises:
            RecordingError: The file cannot be read, or is not a recording.
        """
        self.path = Path(path)
        self._parser = Parser()
        self._pending: deque[RecordedLine | RecordedEvent] = deque()
        """What was read and not yielded yet."""
        try:
            self._file = _open(self.path)
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
        try:
            self.header = self._read_header()
        except RecordingError as error:
            self.close()
            raise RecordingError(f"{path} cannot be read: {error}") from error

    def _read_header(self) -> Header:
        while self._parser.header is None:
            if not (data := self._read()):
                raise RecordingError("the file ends before the header is complete")
            self._parse(data)
        return self._parser.header

    def _parse(self, data: bytes) -> None:
        for record in self._parser.feed(data):
            self._pending += _lines(record)

    def __enter__(self) -> RecordingReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def is_active(self) -> bool:
        """Whether a process is still writing the recording."""
        return is_locked(self._file.fileno())

    def __iter__(self) -> Iterator[RecordedLine | RecordedEvent]:
        """Yield what is in the file and was not yielded before.

        Raises:
            RecordingError: The file is damaged from here on, or cannot be read.
        """
        while True:
            while self._pending:
                yield self._pending.popleft()
            if not (data := self._read()):
                return
            self._parse(data)

    def follow(self, interval: float = 0.1) -> Iterator[RecordedLine | RecordedEvent]:
        """Yield everything that was not yielded before, and wait for more until the recording ends.

        Blocks the thread. A program with an event loop iterates again now and then instead, until
        `is_active` was false before an iteration.

        Args:
            interval: The seconds between looking for more.

        Raises:
            RecordingError: The file is damaged from here on, or cannot be read.
        """
        while True:
            is_active = self.is_active
            yield from self
            if not is_active:
                return
            time.sleep(interval)

    def _read(self) -> bytes:
        try:
            return self._file.read(_READ_BYTES) or b""
        except OSError as error:
            raise RecordingError(f"{self.path} cannot be read: {error.strerror}") from error


def _open(path: Path) -> FileIO:
    """Open a regular file; a FIFO, which has no end and may block forever, is refused.

    Raises:
        OSError: The file cannot be opened, or is not a regular file.
    """
    nonblocking = getattr(os, "O_NONBLOCK", 0)
    file = FileIO(path, opener=lambda name, flags: os.open(name, flags | nonblocking))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is not a regular file")
    return file


def _lines(record: Chunk | RecordedEvent) -> Iterator[RecordedLine | RecordedEvent]:
    if isinstance(record, RecordedEvent):
        yield record
        return
    *whole, rest = record.data.split(b"\n")
    for line in whole:
        yield RecordedLine(record.at, record.source, line)
    if rest:
        yield RecordedLine(record.at, record.source, rest, has_newline=False)
