"""The place of a member in the text of a JSON object, to exchange its value alone.

Everything else in a frame, white space, the order of members, how a number is written, stays as
the bytes it came as. A member that is there twice has no place: two readers may take two different
ones for it, and a relay that checks the first while the agent obeys the second guards nothing.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

import msgspec
from msgspec import Raw

from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame

_OPEN = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
_KEY = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*')
_NEXT = re.compile(rb"[ \t\r\n]*([,}])")
_STRINGS = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"([ \t\r\n]*:)?')
"""Each string, and whether it is a name."""
_ID = re.compile(rb'"id"[ \t\r\n]*:[ \t\r\n]*(-?\d+|null|"(?:[^"\\]|\\.)*")')

_ROUTING_MEMBERS = (b'"jsonrpc"', b'"method"', b'"params"', b'"sessionId"')
_MEMBERS = ("jsonrpc", "id", "method", "params")
_LONG_S = ("\u017f".encode(), b"\\u017f")
"""The one letter outside of ASCII that is the other case of one in our names, and its escape."""

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode


class AmbiguousMessage(ValueError):
    """A member is there twice."""


def has_no_escapes(frame: Frame) -> bool:
    """Return whether no key can be written with escapes: then it is found by its plain text."""
    return b"\\u00" not in frame


def locate(text: Frame, *names: str) -> dict[str, tuple[int, int]]:
    """Return where the values of these members of an object begin and end; of those it has.

    Raises:
        Ambiguous: A member, whichever, is there twice.
        msgspec.DecodeError: It is not an object.
    """
    members = _decode_members(bytes(text).removeprefix(codecs.BOM_UTF8))
    found: dict[str, tuple[int, int]] = {}
    seen: set[str] = set()
    opening = _OPEN.match(text)
    assert opening is not None
    position = opening.end()
    while len(seen) < len(members):
        key = _KEY.match(text, position)
        if key is None:
            raise AmbiguousMessage
        name, start = _decode_text(key[1]), key.end()
        end = start + len(members[name])
        after = _NEXT.match(text, end)
        if name in seen or after is None:
            raise AmbiguousMessage
        seen.add(name)
        if name in names:
            found[name] = (start, end)
        position = after.end()
        if (after[1] == b"}") != (len(seen) == len(members)):
            raise AmbiguousMessage
    return found


def is_ambiguous(frame: bytes, params: Raw) -> bool:
    """Return whether two readers may take a call for two things: another method, another session.

    That is so with a member that is there twice, and with one of another case than ours, since some
    readers do not care for the case. Params of an extension may have names of any case.
    """
    lowered = frame.lower()
    is_usual = (
        has_no_escapes(frame)
        and not any(each in lowered for each in _LONG_S)
        and frame.count(b'"id"') == lowered.count(b'"id"')
        and all(frame.count(name) == lowered.count(name.lower()) <= 1 for name in _ROUTING_MEMBERS)
    )
    if is_usual:
        return False
    try:
        locate(frame)
        members = _decode_members(frame.removeprefix(codecs.BOM_UTF8))
        if any(name.casefold() in _MEMBERS and name not in _MEMBERS for name in members):
            return True
        if len(params) and bytes(params).startswith(b"{"):
            locate(bytes(params))
            if _decode_text(members["method"]).startswith("_"):
                return False
            return any(
                name.casefold() == "sessionid" and name != "sessionId"
                for name in _decode_members(params)
            )
    except (AmbiguousMessage, KeyError, *DECODE_ERRORS):
        return True
    return False


def has_duplicate_keys(frame: bytes) -> bool:
    """Return whether any object in a message, however deep, has a member twice.

    Who decides about what is in a message must know that the next one reads the same in it.
    """
    names = [name for name, colon in _STRINGS.findall(frame) if colon]
    if len(set(names)) == len(names) and b"\\" not in b"".join(names):
        return False  # nearly always: no name is in it twice, wherever

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len({name for name, _ in pairs}) < len(pairs):
            raise AmbiguousMessage

    try:
        json.loads(frame, object_pairs_hook=check)
    except AmbiguousMessage:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def splice_id(frame: bytes, id: bytes) -> tuple[bytes, bytes] | None:
    """Put another id into a message that has one; returns it and the id that stood there.

    None if the place cannot be found although the message can be read: a lone surrogate in it.

    Raises:
        Ambiguous: The message has a member twice.
    """
    if frame.count(b'"id"') == 1 and has_no_escapes(frame):
        match = _ID.search(frame)
        if match is not None:
            start, end = match.span(1)
            return b"%b%b%b" % (frame[:start], id, frame[end:]), match[1]
    try:
        start, end = locate(frame, "id")["id"]
    except (*DECODE_ERRORS, KeyError):
        return None
    return b"%b%b%b" % (frame[:start], id, frame[end:]), frame[start:end]
