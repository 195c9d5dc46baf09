"""Split a stream of bytes into frames, one per line.

A frame is copied once when it was cut by a read, and not at all beyond the split otherwise. What is
longer than the limit is not kept: its head comes out as an `Oversized` frame, so that the reader
can still see whose message it was, and the rest of the line is skipped.
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["HEAD_BYTES", "Frame", "FrameSplitter", "Oversized"]

Frame: TypeAlias = bytes | bytearray
"""One message, one batch, or one malformed value; without the newline."""

HEAD_BYTES = 1024
"""How much is kept of a frame that is over the limit."""


class Oversized(bytes):
    """The head of a frame that was longer than allowed."""

    limit_bytes: int
    """The limit that it broke."""

    def __new__(cls, head: bytes | bytearray, limit_bytes: int) -> Oversized:
        """Keep the head and the limit."""
        self = super().__new__(cls, head[:HEAD_BYTES])
        self.limit_bytes = limit_bytes
        return self


class FrameSplitter:
    """Bytes in, frames out, whatever the pieces in which the bytes arrive."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._partial: bytearray | None = None
        self._is_skipping = False

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return 0 if self._partial is None else len(self._partial)

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they finish, empty lines included."""
        frames: list[Frame] = []
        if self._partial is not None or self._is_skipping:
            end = data.find(b"\n")
            if end < 0:
                self._keep(data, frames)
                return frames
            self._finish(data[:end], frames)
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
            self._keep(rest, frames)
        return frames

    def _keep(self, piece: bytes, frames: list[Frame]) -> None:
        """Hold a piece without an end, or begin to skip when it is too long."""
        if self._is_skipping:
            return
        if self._partial is None:
            self._partial = bytearray()
        self._partial += piece
        if len(self._partial) > self._limit:
            frames.append(Oversized(self._partial, self._limit))
            self._partial = None
            self._is_skipping = True

    def _finish(self, piece: bytes, frames: list[Frame]) -> None:
        """Take the last piece of a frame."""
        self._keep(piece, frames)
        if self._partial is not None:
            frames.append(self._partial)
        self._partial = None
        self._is_skipping = False

    def _checked(self, line: bytes) -> Frame:
        return Oversized(line, self._limit) if len(line) > self._limit else line
