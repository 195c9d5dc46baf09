"""The file of a recording that is being written: joins lines, masks them and appends them.

Only the thread of the writer calls this. Nothing here raises for a disk that is full or a file that
cannot be written: what is lost is counted, and an event in the recording says so once that works.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from parley._user_dirs import private_dir

from ._file_lock import lock
from ._format import Header, RecordedEvent, Source, encode_chunk, encode_event, encode_header
from ._masking import Masker, command_secrets, environment_secrets

MAX_LINE_BYTES = 64 * 1024 * 1024
"""The maximum length of a line that is recorded. It is kept until it is complete, since a secret
could only be found in the whole."""
_BEGINNING = b'{"recording":'


class _Stream:
    """The end of a stream that is not a whole line yet."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.is_skipping = False
        """Whether the rest of the present line is lost, because a part of it is."""

    def take(self) -> bytes:
        pieces, self.pieces, self.size = self.pieces, [], 0
        return b"".join(pieces)


class RecordingFile:
    """A recording that is being written."""

    def __init__(
        self, path: Path, header: Header, environ: Mapping[str, str], *, is_new: bool
    ) -> None:
        """Prepare to write; `open` creates the file.

        Args:
            path: The file.
            header: The first line, whose command may still contain secrets.
            environ: The environment whose secrets are masked.
            is_new: Whether the file must not exist yet; otherwise a recording is replaced.
        """
        self.path = path
        self.problem: str | None = None
        """Why something was lost, the first time."""
        self.lost_bytes = 0
        self._header = header
        self._environ = environ
        self._is_new = is_new
        self._masker = Masker()
        self._first_line = b""
        self._fd = -1
        self._size = 0
        self._max_bytes: int | None = None
        self._is_full = False
        self._at = 0.0
        """The time of the last record."""
        self._streams: dict[Source, _Stream] = {}
        self._buffer: list[bytes] = []
        self._buffered: Counter[Source] = Counter()
        """The number of bytes of each stream in the buffer."""
        self._lost: Counter[tuple[Source, str]] = Counter()
        """What no event in the file reports yet."""
        self._masked: Counter[tuple[Source, str]] = Counter()
        """What was masked since the first event about each kind."""
        self._reported: set[tuple[Source, str]] = set()

    def open(self, max_bytes: int | None) -> None:
        """Create the file and write the header.

        Args:
            max_bytes: The maximum size of the file.
        """
        self._max_bytes = max_bytes
        command, secrets = command_secrets(self._header.command)
        self._masker.learn(environment_secrets(self._environ) | secrets)
        header = structs.replace(self._header, command=command)
        try:
            self._fd = _create(self.path, is_new=self._is_new)
        except OSError as error:
            self.problem = f"{self.path} cannot be written: {error.strerror or error}"
            return
        self._first_line = self._masker.mask("stderr", encode_header(header))[0]
        self.problem = self._append(b"")

    def add_chunk(self, at: float, source: Source, data: bytes) -> None:
        """Add bytes of a stream."""
        self._at = at
        stream = self._streams.get(source)
        if stream is None:
            stream = self._streams[source] = _Stream()
        if stream.is_skipping:
            data = self._skip(stream, source, data)
        end = data.rfind(b"\n") + 1
        if end:
            lines = data[:end] if not stream.pieces else stream.take() + data[:end]
            self._add_lines(source, lines)
            data = data[end:]
        if data:
            stream.pieces.append(data)
            stream.size += len(data)
            if stream.size > MAX_LINE_BYTES:
                self.add_lost(source, 0, f"a line is longer than {MAX_LINE_BYTES >> 20} MiB")

    def add_lost(self, source: Source, size: int, reason: str) -> None:
        """Count bytes of a stream that could not be recorded, with the whole line they are in."""
        stream = self._streams.get(source)
        if stream is None:
            stream = self._streams[source] = _Stream()
        stream.is_skipping = True
        self._count_lost(source, size + len(stream.take()), reason)

    def add_event(self, event: RecordedEvent) -> None:
        """Add an event; the end of a stream is preceded by its last line."""
        self._at = event.at
        if event.event == "closed" and event.source is not None:
            self._end_stream(event.source)
        self._buffer.append(self._masker.mask("stderr", encode_event(event))[0])

    def flush(self) -> None:
        """Write what was added."""
        if not self._buffer and not (self._lost and not self._is_full):
            return
        lost = {} if self._is_full else dict(self._lost)
        data = b"".join((*self._lost_events(lost), *self._buffer))
        buffered = self._buffered
        self._buffer, self._buffered = [], Counter()
        if self._max_bytes is not None and self._size + len(data) > self._max_bytes:
            self._is_full = True
        reason = (
            f"the recording has reached the limit of {self._max_bytes} bytes"
            if self._is_full
            else self._append(data)
        )
        if reason is None:
            self._lost.subtract(lost)
            self._lost = +self._lost
            return
        for source, size in buffered.items():
            self._count_lost(source, size, reason)

    def close(self) -> None:
        """Write the rest, with the totals of what was masked and lost."""
        for source in list(self._streams):
            self._end_stream(source)
        for (source, what), times in self._masked.items():
            self._buffer.append(_masked_event(self._at, source, what, times))
        self.flush()
        if self._lost:
            self._append(b"".join(self._lost_events(dict(self._lost))))
        if self._fd >= 0:
            with suppress(OSError):  # some file systems report errors only now
                os.close(self._fd)
            self._fd = -1

    def _end_stream(self, source: Source) -> None:
        stream = self._streams.pop(source, None)
        if stream is not None and (rest := stream.take()):
            self._add_lines(source, rest)

    def _skip(self, stream: _Stream, source: Source, data: bytes) -> bytes:
        """Drop the rest of a line of which a part is lost."""
        end = data.find(b"\n") + 1
        stream.is_skipping = end == 0
        rest = data[end:] if end else b""
        _, reason = next((key for key in reversed(self._lost) if key[0] == source), (source, ""))
        self._count_lost(source, len(data) - len(rest), reason or "a part of the line is lost")
        return rest

    def _add_lines(self, source: Source, lines: bytes) -> None:
        masked, found = self._masker.mask(source, lines)
        for what, times in found.items():
            if (source, what) in self._reported:
                self._masked[source, what] += times
            else:
                self._reported.add((source, what))
                self._buffer.append(_masked_event(self._at, source, what, times))
        self._buffer.append(encode_chunk(self._at, source, masked))
        self._buffered[source] += len(lines)

    def _count_lost(self, source: Source, size: int, reason: str) -> None:
        self.problem = self.problem or reason
        self.lost_bytes += size
        self._lost[source, reason] += size

    def _lost_events(self, lost: dict[tuple[Source, str], int]) -> list[bytes]:
        return [
            encode_event(
                RecordedEvent(at=self._at, event="lost", source=source, size=size, reason=reason)
            )
            for (source, reason), size in lost.items()
        ]

    def _append(self, data: bytes) -> str | None:
        """Append records, all or none; returns why it failed."""
        if self._fd < 0:
            return self.problem or "the recording is closed"
        if self._size == 0:
            data = self._first_line + data
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            return error.strerror or str(error)
        self._size += len(data)
        return None


def _masked_event(at: float, source: Source, what: str, times: int) -> bytes:
    event = RecordedEvent(at=at, event="masked", source=source, what=what, times=times)
    return encode_event(event)


def _create(path: Path, *, is_new: bool) -> int:
    """Create the file of a recording, lock it, and return its file descriptor.

    Raises:
        OSError: The file cannot be created, or it exists and is not a recording.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    if is_new:
        private_dir(path.parent)
        flags |= os.O_EXCL
    fd = os.open(path, flags, 0o600)
    try:
        try:
            lock(fd)
        except BlockingIOError:
            raise OSError("another process is recording to this file") from None
        if not is_new and stat.S_ISREG(os.fstat(fd).st_mode):
            if os.pread(fd, len(_BEGINNING), 0) not in (b"", _BEGINNING):
                raise OSError("the file exists and is not a recording")
            os.ftruncate(fd, 0)
    except BaseException:
        os.close(fd)
        raise
    return fd
