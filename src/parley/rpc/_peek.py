"""Facts about a frame that need no parsing.

How deep it nests, whether it is UTF-8, and, from its two ends, its kind and id. The ends are all
there is to go by if a frame is too long, too deep or malformed, and a request may be waiting for
it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

import msgspec

from ._framing import EDGE_BYTES, Frame, OversizedFrame
from ._message import Id

_SCALAR = rb'(-?\d+|null|"(?:[^"\\]|\\.)*")'
_START = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*([{\[])")
_MEMBER = re.compile(rb'\s*"(jsonrpc|id|method)"\s*:\s*' + _SCALAR + rb"\s*,")
_OUTCOME = re.compile(rb'\s*"(?:result|error)"\s*:')
_LAST_ID = re.compile(
    rb',\s*"id"\s*:\s*' + _SCALAR + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)


def begins_as_json(frame: Frame) -> bool:
    """Return whether a frame starts like an object or an array."""
    return _START.match(frame) is not None


def peek_role_and_id(frame: Frame) -> tuple[Literal["request", "response", "notification"], Id]:
    """Return the kind of a message and its id, as far as its first and last members show."""
    head = frame[:EDGE_BYTES]
    start = _START.match(head)
    if start is None or start[1] != b"{":
        return "request", None
    members: dict[bytes, bytes] = {}
    position = start.end()
    while member := _MEMBER.match(head, position):
        members[member[1]] = member[2]
        position = member.end()
    id = members.get(b"id") or _last_id(frame)
    if _OUTCOME.match(head, position):
        return "response", _read_id(id)
    is_notification = b"method" in members and id is None
    return ("notification" if is_notification else "request"), _read_id(id)


def _last_id(frame: Frame) -> bytes | None:
    tail = frame.tail if isinstance(frame, OversizedFrame) else frame[-EDGE_BYTES:]
    found = _LAST_ID.search(tail)
    return None if found is None else found[1]


def _read_id(id: bytes | None) -> Id:
    try:
        return None if id is None else msgspec.json.decode(id, type=int | str | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def is_utf8(frame: Frame) -> bool:
    """Return whether a frame is UTF-8; checked in pieces to avoid a copy as text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(frame)
    try:
        for start in range(0, len(view), _PIECE):
            decoder.decode(view[start : start + _PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


_PIECE = 1 << 16
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'"[]{}'))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: +1 opens, -1 closes


def is_too_deep(frame: Frame, max_depth: int) -> bool:
    """Return whether the brackets outside strings nest deeper than allowed.

    Counting the opening brackets is nearly always enough. Otherwise, everything but brackets and
    quotes is removed, and then each pair of adjacent quotes: that does not change which brackets
    are inside a string.
    """
    if frame.count(b"[") + frame.count(b"{") <= max_depth:
        return False
    plain = frame.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in frame else frame
    structure = plain.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    steps = b"".join(_outside_strings(structure)).translate(_STEPS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > max_depth


def _outside_strings(structure: Frame) -> Iterator[bytes]:
    """Yield the brackets outside strings.

    In pieces, because splitting a long frame at once would take many times its own memory.
    """
    is_inside = False
    for start in range(0, len(structure), _PIECE):
        parts = structure[start : start + _PIECE].split(b'"')
        yield b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0
