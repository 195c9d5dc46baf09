"""Backpressure across the event streams of one connection.

Each stream may hold a number of unsent bytes while the total is low. Once the total exceeds half of
what the connection may hold, and until it falls to a quarter, each stream may hold one message
only. Streams whose peer keeps reading thus make progress, however many others are stalled.
"""

from __future__ import annotations

from collections.abc import Callable


class SendWindow:
    """The unsent bytes on the streams of one connection, and how many each may hold."""

    __slots__ = ("_connection_bytes", "_on_reopen", "_stream_bytes", "allowed", "bytes")

    def __init__(
        self,
        stream_bytes: int,
        connection_bytes: int,
        on_reopen: Callable[[], None] | None = None,
    ) -> None:
        """Create an empty window.

        Args:
            stream_bytes: The number of unsent bytes that one stream may hold.
            connection_bytes: The number of unsent bytes that all streams together may hold.
            on_reopen: Called when each stream may hold `stream_bytes` again.
        """
        self.bytes = 0
        """The number of unsent bytes on all streams."""
        self.allowed = stream_bytes
        """The number of unsent bytes on a stream above which its writers must wait."""
        self._stream_bytes = stream_bytes
        self._connection_bytes = connection_bytes
        self._on_reopen = on_reopen

    def add(self, size: int) -> None:
        """Count bytes that a stream has queued."""
        self.bytes += size
        if self.bytes > self._connection_bytes // 2:
            self.allowed = 0

    def remove(self, size: int) -> None:
        """Subtract bytes that were sent or discarded."""
        self.bytes -= size
        if not self.allowed and self.bytes <= self._connection_bytes // 4:
            self.allowed = self._stream_bytes
            if self._on_reopen is not None:
                self._on_reopen()
