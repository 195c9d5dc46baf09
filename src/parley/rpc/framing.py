"""Split a stream of bytes into frames, one per line.

A frame is copied once when it was cut by a read, and not at all beyond the split otherwise. What is
longer than the limit is not kept: it comes out as an `Oversized` frame with its two ends, so that
the reader can still see whose message it was.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["EDGE_BYTES", "Frame", "FrameSplitter", "Oversized"]

Frame: TypeAlias = bytes | bytearray
"""One message, one batch, or one malformed value; without the newline."""

EDGE_BYTES = 1024
"""How much is kept of either end of a frame that is over the limit."""
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}".encode()


class Oversized(bytes):
    """The head of a frame that was longer than allowed, with an ellipsis: it is never JSON."""

    tail: bytes
    """How the frame ended."""
    limit_bytes: int
    """The limit that it broke."""

    def __new__(cls, head: bytes | bytearray, tail: bytes | bytearray, limit: int) -> Oversized:
        """Keep the two ends and the limit."""
        self = super().__new__(cls, bytes(head[:EDGE_BYTES]) + _ELLIPSIS)
        self.tail = bytes(tail[-EDGE_BYTES:])
        self.limit_bytes = limit
        return self


class FrameSplitter:
    """Bytes in, frames out, whatever the pieces in which the bytes arrive."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._partial: bytearray | None = None
        self._tail: bytes | None = None
        """The end, so far, of a frame that is over the limit; then `_partial` is its head."""

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return len(self._partial or b"") + len(self._tail or b"")

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they finish, empty lines included."""
        frames: list[Frame] = []
        if self._partial is not None:
            end = data.find(b"\n")
            if end < 0:
                self._keep(self._partial, data)
                return frames
            frames.append(self._finish(self._partial, data[:end]))
            data = data[end + 1 :]
        if not data:
            return frames
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(data) > self._limit:
            frames += [self._checked(line) for line in lines]
        else:
            frames += lines
        if rest:
            self._partial = bytearray()
            self._keep(self._partial, rest)
        return frames

    def _keep(self, partial: bytearray, piece: bytes) -> None:
        """Hold a piece without an end; of a frame that is too long only the two ends."""
        if self._tail is not None:
            self._tail = (self._tail + piece[-EDGE_BYTES:])[-EDGE_BYTES:]
            return
        partial += piece
        if len(partial) > max(self._limit, EDGE_BYTES):
            self._tail = bytes(partial[-EDGE_BYTES:])
            del partial[EDGE_BYTES:]

    def _finish(self, partial: bytearray, piece: bytes) -> Frame:
        """Take the last piece of a frame and return it."""
        self._keep(partial, piece)
        tail, self._partial, self._tail = self._tail, None, None
        return self._checked(partial) if tail is None else Oversized(partial, tail, self._limit)

    def _checked(self, line: Frame) -> Frame:
        return Oversized(line, line, self._limit) if len(line) > self._limit else line
