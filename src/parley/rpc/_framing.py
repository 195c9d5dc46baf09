"""Framing: a stream of bytes becomes frames, one per line.

The lines of one read stay together as a `LineBlock`, which is split only if a caller needs single
frames. A long frame that arrives in many reads is collected in one buffer and not copied again. A
frame above the limit is not kept: it becomes an `OversizedFrame` with its two ends, from which the
reader can still see which message it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, overload

Frame: TypeAlias = bytes | bytearray
"""One message, one batch, or malformed bytes; without the newline."""

EDGE_BYTES = 1024
"""Bytes kept of each end of a frame above the limit."""
_JOIN_BYTES = 64 * 1024
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}".encode()


class OversizedFrame(bytes):
    """The head of a frame above the limit, plus an ellipsis so that it is never valid JSON."""

    tail: bytes
    """The last bytes of the frame."""
    limit_bytes: int
    """The limit that the frame exceeded."""

    def __new__(
        cls, head: bytes | bytearray, tail: bytes | bytearray, limit: int
    ) -> OversizedFrame:
        """Create the frame from its two ends and the limit."""
        self = super().__new__(cls, bytes(head[:EDGE_BYTES]) + _ELLIPSIS)
        self.tail = bytes(tail[-EDGE_BYTES:])
        self.limit_bytes = limit
        return self


class LineBlock(Sequence[Frame]):
    """The frames of a block of whole lines, split on first access."""

    __slots__ = ("_frames", "block")

    def __init__(self, block: bytes) -> None:
        self.block = block
        """The undivided lines; ends with a newline."""
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
    """An incremental splitter of bytes into frames, however the reads divide the bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._partial = bytearray()
        self._tail: bytes | None = None
        """The current tail of a frame above the limit, whose head is `_partial`; else None."""

    @property
    def pending_bytes(self) -> int:
        """The number of bytes held of an incomplete frame."""
        return len(self._partial) + len(self._tail or b"")

    def feed(self, data: bytes) -> Sequence[Frame]:
        """Add the next bytes and return the frames that they complete, including empty lines."""
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
        """Return the frames of whole lines plus the held bytes; a long held frame is not copied."""
        if not self._partial:
            frames: Sequence[Frame] = LineBlock(block)
        elif self.pending_bytes <= _JOIN_BYTES and self._tail is None:
            block = bytes(self._partial) + block
            self._partial = bytearray()
            frames = LineBlock(block)
        else:
            end = block.index(b"\n")
            frames = [self._finish(block[:end]), *block[end + 1 :].split(b"\n")[:-1]]
        if len(block) > self._limit:
            return [self._checked(frame) for frame in frames]
        return frames

    def _keep(self, piece: bytes) -> None:
        """Hold a piece of an incomplete frame; only the two ends if the frame is too long."""
        if self._tail is not None:
            self._tail = (self._tail + piece[-EDGE_BYTES:])[-EDGE_BYTES:]
            return
        self._partial += piece
        if len(self._partial) > max(self._limit, EDGE_BYTES):
            self._tail = bytes(self._partial[-EDGE_BYTES:])
            del self._partial[EDGE_BYTES:]

    def _finish(self, piece: bytes) -> Frame:
        """Add the last piece of the held frame and return the frame."""
        self._keep(piece)
        frame, tail = self._partial, self._tail
        self._partial, self._tail = bytearray(), None
        return self._checked(frame) if tail is None else OversizedFrame(frame, tail, self._limit)

    def _checked(self, frame: Frame) -> Frame:
        if len(frame) <= self._limit or isinstance(frame, OversizedFrame):
            return frame
        return OversizedFrame(frame, frame, self._limit)
