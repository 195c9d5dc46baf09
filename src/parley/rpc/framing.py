"""Split a stream of bytes into frames, one per line.

What one read brings stays together as a block of `Lines`, which are split only if somebody wants
them one by one. A long frame that many reads bring is gathered in one buffer and not copied again.
What is longer than the limit is not kept: it comes out as an `Oversized` frame with its two ends,
so that the reader can still see whose message it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

__all__ = ["EDGE_BYTES", "Frame", "FrameSplitter", "Lines", "Oversized"]

Frame: TypeAlias = bytes | bytearray
"""One message, one batch, or one malformed value; without the newline."""

EDGE_BYTES = 1024
"""How much is kept of either end of a frame that is over the limit."""
_JOIN_BYTES = 64 * 1024
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


class Lines(Sequence[Frame]):
    """The frames of one block, which ends with a newline."""

    __slots__ = ("_frames", "block")

    def __init__(self, block: bytes) -> None:
        self.block = block
        """The lines as they came."""
        self._frames: list[bytes] | None = None

    def _split(self) -> list[bytes]:
        if self._frames is None:
            self._frames = self.block.split(b"\n")
            self._frames.pop()
        return self._frames

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._split())

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._split())

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Frame]: ...
    def __getitem__(self, index: int | slice) -> Frame | Sequence[Frame]:
        return self._split()[index]


class FrameSplitter:
    """Bytes in, frames out, whatever the pieces in which the bytes arrive."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._partial = bytearray()
        self._tail: bytes | None = None
        """The end, so far, of a frame that is over the limit; then `_partial` is its head."""

    @property
    def pending_bytes(self) -> int:
        """How much of an unfinished frame is held."""
        return len(self._partial) + len(self._tail or b"")

    def feed(self, data: bytes) -> Sequence[Frame]:
        """Take the next bytes and return the frames that they finish, empty lines included."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep(data)
            return ()
        rest = data[end:]
        frames = self._frames(data[:end])
        if rest:
            self._keep(rest)
        return frames

    def _frames(self, block: bytes) -> Sequence[Frame]:
        """Join what was held with a block of whole lines; a long frame stands alone."""
        if not self._partial:
            frames: Sequence[Frame] = Lines(block)
        elif self.pending_bytes <= _JOIN_BYTES and self._tail is None:
            block = bytes(self._partial) + block
            self._partial = bytearray()
            frames = Lines(block)
        else:
            end = block.index(b"\n")
            frames = [self._finish(block[:end]), *block[end + 1 :].split(b"\n")[:-1]]
        if len(block) > self._limit:
            return [self._checked(frame) for frame in frames]
        return frames

    def _keep(self, piece: bytes) -> None:
        """Hold a piece without an end; of a frame that is too long only the two ends."""
        if self._tail is not None:
            self._tail = (self._tail + piece[-EDGE_BYTES:])[-EDGE_BYTES:]
            return
        self._partial += piece
        if len(self._partial) > max(self._limit, EDGE_BYTES):
            self._tail = bytes(self._partial[-EDGE_BYTES:])
            del self._partial[EDGE_BYTES:]

    def _finish(self, piece: bytes) -> Frame:
        """Take the last piece of a frame and return it."""
        self._keep(piece)
        frame, tail = self._partial, self._tail
        self._partial, self._tail = bytearray(), None
        return self._checked(frame) if tail is None else Oversized(frame, tail, self._limit)

    def _checked(self, frame: Frame) -> Frame:
        if len(frame) <= self._limit or isinstance(frame, Oversized):
            return frame
        return Oversized(frame, frame, self._limit)
