"""Messages of a WebSocket that are too long: they are passed over, and the connection lives.

Of such a message its two ends are kept, as of a line that is too long (`rpc/framing.py`), so that
whoever reads it can still tell whose it was and answer.
"""

from __future__ import annotations

from parley.rpc.framing import EDGE_BYTES, Oversized

__all__ = ["Edges", "LongFrames", "is_wrong", "wrong_frame"]

_LAST_DATA = 2
"""Up to this opcode a frame is of a message; the others control the connection."""
_MAX_CONTROL_BYTES = 125
_MASKED = 0x80
_RESERVED = 0x70


class Edges:
    """The two ends of something that is too long to be kept."""

    __slots__ = ("head", "tail")

    def __init__(self) -> None:
        self.head = b""
        self.tail = b""

    def add(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes."""
        if len(self.head) < EDGE_BYTES:
            self.head += bytes(data[: EDGE_BYTES - len(self.head)])
        self.tail = (self.tail + bytes(data[-EDGE_BYTES:]))[-EDGE_BYTES:]

    def join(self, other: Edges) -> None:
        """Take what follows, of which only the ends are known."""
        self.head = (self.head + other.head)[:EDGE_BYTES]
        self.tail = (self.tail + other.tail)[-EDGE_BYTES:]

    def unmask(self, key: bytes, size: int) -> None:
        """Make of so many bytes as they came what they mean."""
        self.head = _unmasked(self.head, key, 0)
        self.tail = _unmasked(self.tail, key, size - len(self.tail))

    def frame(self, limit_bytes: int) -> Oversized:
        """Return what is read in its place."""
        return Oversized(self.head, self.tail, limit_bytes)


def is_wrong(first: int, length: int) -> bool:
    """Tell whether no frame may be as long as this one, which begins with the byte."""
    is_control = first & 0x0F > _LAST_DATA
    return length > _MAX_CONTROL_BYTES if is_control else bool(length >> 63)


def wrong_frame(first: int) -> bytes:
    """Return a short frame that is wrong, too, so that the library need not keep the long one."""
    return bytes((first | _RESERVED, 0))


class LongFrames:
    """Bytes of frames in, the same out, but empty frames in place of those that are too long."""

    __slots__ = ("_edges", "_key", "_left", "_limit", "_rest", "_size", "_start")

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._rest = b""
        self._left = 0
        """How much is to come of the frame that is read, or passed over."""
        self._edges: Edges | None = None
        self._start = self._key = b""
        self._size = 0

    def feed(self, data: bytes) -> list[tuple[bytes, Edges | None]]:
        """Take bytes; returns pieces to be read, and the ends of what the last frame in it had."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        pieces: list[tuple[bytes, Edges | None]] = []
        place = 0
        begin = 0 if self._edges is None else len(data)  # of what is passed on
        while place < len(data) or (self._edges is not None and not self._left):
            step = min(self._left, len(data) - place)
            if self._edges is not None:
                self._edges.add(data[place : place + step])
            self._left -= step
            place += step
            if self._left:
                break
            if self._edges is not None:
                pieces.append(self._passed_over(self._edges))
                begin, self._edges = place, None
                continue
            size = self._head(data, place)
            if not size:
                self._rest = data[place:]
                break
            if self._edges is not None:
                if begin < place:
                    pieces.append((data[begin:place], None))
                place += size
                begin = len(data)
        end = len(data) - len(self._rest)
        if begin < end:
            pieces.append((data if begin == 0 and end == len(data) else data[begin:end], None))
        return pieces

    def _head(self, data: bytes, place: int) -> int:
        """Look at how a frame begins; returns how long that is, 0 if there is too little of it."""
        left = len(data) - place
        if left < 2:
            return 0
        length, key = data[place + 1] & 0x7F, 4 if data[place + 1] & _MASKED else 0
        size = 2 + key
        if length > 125:
            size += 2 if length == 126 else 8
            length = int.from_bytes(data[place + 2 : place + size - key], "big")
        if left < size:
            return 0
        first = data[place]
        if is_wrong(first, length):
            first, length = first | _RESERVED, 0
        elif length <= self._limit or first & 0x0F > _LAST_DATA:
            self._left = size + length
            return size
        self._edges, self._left, self._size = Edges(), length, length
        self._start = bytes((first, data[place + 1] & _MASKED))
        self._key = data[place + size - key : place + size]
        return size

    def _passed_over(self, edges: Edges) -> tuple[bytes, Edges]:
        """Return an empty frame that says of itself what the long one has said."""
        if self._key:
            edges.unmask(self._key, self._size)
        return self._start + self._key, edges


def _unmasked(data: bytes, key: bytes, place: int) -> bytes:
    return bytes(byte ^ key[(place + index) & 3] for index, byte in enumerate(data))
