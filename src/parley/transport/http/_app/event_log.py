"""A log of the events sent on the streams of a connection, for readers that reconnect.

Events are numbered across all streams of a connection. They are logged in the pieces in which they
were passed to the server. A log may forget the oldest events; a reader that needs them gets an
error, never a stream with a gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

StreamName: TypeAlias = str | None
"""The session that a stream belongs to; None is the stream of the connection."""

_ENTRY_BYTES = 128
"""The approximate overhead of an entry, in addition to its data."""
_MAX_STREAMS = 4096
"""The number of streams whose forgotten events are tracked one by one; others share a number."""
_MOST_TIMES = 4
"""The factor by which the log may exceed its limit when there are many streams."""


class EventsForgotten(Struct, frozen=True):
    """The result for events that the log no longer has."""

    forgotten: int
    """The number of the last forgotten event of the stream."""


class EventLog(Protocol):
    """A log of the events of one connection."""

    def append(self, stream: StreamName, n: int, data: bytes, /) -> None:
        """Store a piece of a stream whose last event has this number."""

    def after(self, stream: StreamName, n: int, /) -> list[tuple[int, bytes]] | EventsForgotten:
        """Return the pieces of a stream that end after event `n`, oldest first.

        The first piece may start at or before event `n`, and pieces may overlap.
        """
        ...


class MemoryEventLog:
    """An `EventLog` in memory that keeps the newest pieces, limited by bytes and by time."""

    def __init__(
        self,
        max_bytes: int,
        max_seconds: float,
        clock: Callable[[], float],
        stream_bytes: int = 0,
    ) -> None:
        """Create an empty log.

        Args:
            max_bytes: The number of bytes to keep.
            max_seconds: The number of seconds to keep them.
            clock: Returns the current time.
            stream_bytes: The number of bytes to keep in addition for each stream after the first,
                up to four times `max_bytes` in total. Servers buffer unsent data of each stream.
                With many busy streams that is more than `max_bytes`, and if the log had forgotten
                it, it would be lost when the streams are cut.
        """
        self._max_bytes = max_bytes
        self._stream_bytes = stream_bytes
        self._max_seconds = max_seconds
        self._clock = clock
        self._entries: deque[tuple[float, StreamName, int, bytes]] = deque()
        self._bytes = 0
        self._counts: dict[StreamName, int] = {}
        """The number of entries of each stream."""
        self._forgotten: dict[StreamName, int] = {}
        self._floor = 0
        """The last forgotten event of the streams that `_forgotten` no longer tracks."""

    @property
    def kept_bytes(self) -> int:
        """The number of bytes that the log holds."""
        return self._bytes

    def append(self, stream: StreamName, n: int, data: bytes) -> None:
        """Store a piece, and forget the oldest ones beyond the limits."""
        now = self._clock()
        entries = self._entries
        entries.append((now, stream, n, data))
        self._bytes += len(data) + _ENTRY_BYTES
        self._counts[stream] = self._counts.get(stream, 0) + 1
        if self._is_full() or now - entries[0][0] > self._max_seconds:
            self._forget(now)

    def after(self, stream: StreamName, n: int) -> list[tuple[int, bytes]] | EventsForgotten:
        """Return the pieces of a stream after event `n`, or `EventsForgotten`."""
        self._forget(self._clock())
        forgotten = self._forgotten.get(stream, self._floor)
        if n < forgotten:
            return EventsForgotten(forgotten)
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
