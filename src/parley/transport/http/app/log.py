"""What was sent on the streams of a connection, kept for a reader that comes back.

Events are numbered over all streams of a connection, and come to the log in the pieces in which
they were given to the server. A log may forget the oldest; who asks for what is forgotten is told
so, and never gets a stream with a hole in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

__all__ = ["EventLog", "MemoryLog", "StreamName", "TooOld"]

StreamName: TypeAlias = str | None
"""The session that a stream belongs to; None is the stream of the connection."""

_ENTRY_BYTES = 128
"""About what an entry weighs besides its data."""
_MAX_STREAMS = 4096
"""Of so many streams it is known what is forgotten of each; of others only of all together."""
_MOST_TIMES = 4
"""How many times as much as is wanted is kept at the most, for the sake of many streams."""


class TooOld(Struct, frozen=True):
    """What was asked for is no longer there."""

    forgotten: int
    """The last event of the stream that is forgotten."""


class EventLog(Protocol):
    """The events of one connection."""

    def append(self, stream: StreamName, n: int, data: bytes, /) -> None:
        """Keep a piece of a stream, which ends with the event of this number."""

    def after(self, stream: StreamName, n: int, /) -> list[tuple[int, bytes]] | TooOld:
        """Return the pieces of a stream that end behind the number, oldest first.

        The first may begin before the number, and one may repeat what the one before it had.
        """
        ...


class MemoryLog:
    """Keeps the newest pieces, bounded by bytes, somewhat more for each stream, and by time."""

    def __init__(
        self,
        max_bytes: int,
        max_seconds: float,
        clock: Callable[[], float],
        stream_bytes: int = 0,
    ) -> None:
        """Begin with nothing.

        Args:
            max_bytes: How much is kept.
            max_seconds: How long it is kept.
            clock: What time it is.
            stream_bytes: How much more is kept for each stream but one, up to four times as much in
                all. Servers hold something of each stream that they have not sent: of many busy
                ones it is more than the rest, and forgotten it would be lost when they are cut.
        """
        self._max_bytes = max_bytes
        self._stream_bytes = stream_bytes
        self._max_seconds = max_seconds
        self._clock = clock
        self._entries: deque[tuple[float, StreamName, int, bytes]] = deque()
        self._bytes = 0
        self._counts: dict[StreamName, int] = {}
        """How many entries each stream has."""
        self._forgotten: dict[StreamName, int] = {}
        self._floor = 0
        """The last event that is forgotten of the streams whose own number was forgotten too."""

    @property
    def kept_bytes(self) -> int:
        """How much is kept."""
        return self._bytes

    def append(self, stream: StreamName, n: int, data: bytes) -> None:
        """Keep a piece, and forget what is too old or too much."""
        now = self._clock()
        entries = self._entries
        entries.append((now, stream, n, data))
        self._bytes += len(data) + _ENTRY_BYTES
        self._counts[stream] = self._counts.get(stream, 0) + 1
        if self._is_full() or now - entries[0][0] > self._max_seconds:
            self._forget(now)

    def after(self, stream: StreamName, n: int) -> list[tuple[int, bytes]] | TooOld:
        """Return what follows a number on a stream."""
        self._forget(self._clock())
        forgotten = self._forgotten.get(stream, self._floor)
        if n < forgotten:
            return TooOld(forgotten)
        return [(each, data) for _, of, each, data in self._entries if of == stream and each > n]

    def _is_full(self) -> bool:
        more = self._stream_bytes * (len(self._counts) - 1)
        return self._bytes > min(self._max_bytes + more, _MOST_TIMES * self._max_bytes)

    def _forget(self, now: float) -> None:
        entries = self._entries
        oldest = now - self._max_seconds
        while entries and (self._is_full() or entries[0][0] < oldest):
            _, stream, n, data = entries.popleft()
            self._bytes -= len(data) + _ENTRY_BYTES
            self._counts[stream] -= 1
            if not self._counts[stream]:
                del self._counts[stream]
            self._forgotten.pop(stream, None)
            self._forgotten[stream] = n
            if len(self._forgotten) > _MAX_STREAMS:
                self._floor = self._forgotten.pop(next(iter(self._forgotten)))
