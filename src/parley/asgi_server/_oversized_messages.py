"""Skipping of oversized WebSocket messages, so that they do not close the connection.

The two ends of such a message are kept, so that the application can still find out what it was and
respond to it.
"""

from __future__ import annotations

_LAST_DATA_OPCODE = 2
"""The highest opcode of a data frame; those above it are control frames."""
_MAX_CONTROL_BYTES = 125
_MASKED = 0x80
_RESERVED = 0x70


class MessageEdges:
    """The first and last bytes of a message that is too long to keep."""

    __slots__ = ("_limit", "head", "tail")

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self.head = b""
        self.tail = b""

    def add(self, data: bytes | bytearray | memoryview) -> None:
        """Append the next bytes."""
        if len(self.head) < self._limit:
            self.head += bytes(data[: self._limit - len(self.head)])
        self.tail = (self.tail + bytes(data[-self._limit :]))[-self._limit :]

    def join(self, other: MessageEdges) -> None:
        """Append the part that follows, of which only the ends are known."""
        self.head = (self.head + other.head)[: self._limit]
        self.tail = (self.tail + other.tail)[-self._limit :]

    def unmask(self, key: bytes, size: int) -> None:
        """Undo the masking of a frame whose payload has `size` bytes."""
        self.head = _unmask(self.head, key, 0)
        self.tail = _unmask(self.tail, key, size - len(self.tail))


def _is_invalid_length(first: int, length: int) -> bool:
    """Return whether the protocol forbids this length for a frame with this first byte."""
    is_control = first & 0x0F > _LAST_DATA_OPCODE
    return length > _MAX_CONTROL_BYTES if is_control else bool(length >> 63)


class OversizedFrameFilter:
    """A filter on the bytes of a WebSocket that empties the frames that are too long."""

    __slots__ = (
        "_edge_bytes",
        "_edges",
        "_header_start",
        "_incomplete_header",
        "_limit",
        "_masking_key",
        "_remaining_bytes",
        "_size",
    )

    def __init__(self, limit_bytes: int, edge_bytes: int) -> None:
        self._limit = limit_bytes
        self._edge_bytes = edge_bytes
        self._incomplete_header = b""
        self._remaining_bytes = 0
        """The number of bytes still to come of the current frame, whether kept or skipped."""
        self._edges: MessageEdges | None = None
        self._header_start = self._masking_key = b""
        self._size = 0

    def feed(self, data: bytes) -> list[tuple[bytes, MessageEdges | None]]:
        """Filter the next bytes.

        Returns:
            Pieces for the library to parse. A piece that stands for an oversized frame comes with
            the ends of that frame's payload.
        """
        if self._incomplete_header:
            data, self._incomplete_header = self._incomplete_header + data, b""
        pieces: list[tuple[bytes, MessageEdges | None]] = []
        offset = 0
        begin = 0 if self._edges is None else len(data)  # start of the bytes to pass on
        while offset < len(data) or (self._edges is not None and not self._remaining_bytes):
            step = min(self._remaining_bytes, len(data) - offset)
            if self._edges is not None:
                self._edges.add(data[offset : offset + step])
            self._remaining_bytes -= step
            offset += step
            if self._remaining_bytes:
                break
            if self._edges is not None:
                pieces.append(self._skipped_frame(self._edges))
                begin, self._edges = offset, None
                continue
            size = self._parse_header(data, offset)
            if not size:
                self._incomplete_header = data[offset:]
                break
            if self._edges is not None:
                if begin < offset:
                    pieces.append((data[begin:offset], None))
                offset += size
                begin = len(data)
        end = len(data) - len(self._incomplete_header)
        if begin < end:
            pieces.append((data if begin == 0 and end == len(data) else data[begin:end], None))
        return pieces

    def _parse_header(self, data: bytes, offset: int) -> int:
        """Parse a frame's header and return its size, or 0 if it is incomplete."""
        left = len(data) - offset
        if left < 2:
            return 0
        length, key = data[offset + 1] & 0x7F, 4 if data[offset + 1] & _MASKED else 0
        size = 2 + key
        if length > 125:
            size += 2 if length == 126 else 8
            length = int.from_bytes(data[offset + 2 : offset + size - key], "big")
        if left < size:
            return 0
        first = data[offset]
        if _is_invalid_length(first, length):  # becomes an empty frame that the library rejects
            first, length = first | _RESERVED, 0
        elif length <= self._limit or first & 0x0F > _LAST_DATA_OPCODE:
            self._remaining_bytes = size + length
            return size
        self._edges = MessageEdges(self._edge_bytes)
        self._remaining_bytes = self._size = length
        self._header_start = bytes((first, data[offset + 1] & _MASKED))
        self._masking_key = data[offset + size - key : offset + size]
        return size

    def _skipped_frame(self, edges: MessageEdges) -> tuple[bytes, MessageEdges]:
        """Return an empty frame with the flags of the skipped one, and the ends of its payload."""
        if self._masking_key:
            edges.unmask(self._masking_key, self._size)
        return self._header_start + self._masking_key, edges


def _unmask(data: bytes, key: bytes, offset: int) -> bytes:
    return bytes(byte ^ key[(offset + index) & 3] for index, byte in enumerate(data))
