"""Frames to messages and back.

The usual frame is decoded in one pass over the envelope, with `params` and `result` left as bytes.
Only when that fails, a second look finds out what it was, because JSON-RPC asks for an answer that
fits: not JSON, JSON that is no message, a broken reply that somebody waits for, a broken
notification that must not be answered.

Defined here, because the specifications leave it open: of duplicate keys the last one counts; a BOM
and white space around a message are passed over; a lone surrogate escape reads as U+FFFD; a
message nested deeper than the limit is refused without being parsed.
"""

from __future__ import annotations

import codecs
import re
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from .framing import Frame, Oversized
from .message import (
    ABSENT,
    Batch,
    ErrorObject,
    Failure,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    Success,
)

__all__ = [
    "MAX_BATCH",
    "MAX_DEPTH",
    "NOT_JSON",
    "USUAL",
    "Item",
    "decode",
    "decode_notification",
    "encode_batch",
    "encode_failure",
    "encode_notification",
    "encode_request",
    "encode_success",
    "find_message",
]

MAX_DEPTH = 128
"""How deep a message may nest; serde_json, on which other implementations stand, allows as much."""
MAX_BATCH = 1000
"""How many entries an array may have."""

Item: TypeAlias = Request | Notification | Success | Failure | Malformed


class _Envelope(Struct):
    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: int | str | None | UnsetType = UNSET
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class _Error(Struct):
    code: int
    message: str
    data: Raw = ABSENT


USUAL = b'{"jsonrpc":"2.0","method":'
"""How everybody's notifications begin, and hardly anybody's requests or replies."""

decode_notification = msgspec.json.Decoder(Notification).decode
"""Reads a frame that begins as usual and is nothing but a notification; raises for any other."""
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_error = msgspec.json.Decoder(_Error).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_id = msgspec.json.Decoder(int | str | None).decode
_decode_any = msgspec.json.Decoder().decode
_encode_any = msgspec.json.Encoder().encode

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOT_UTF8 = Malformed("call", "not UTF-8", is_json=False)


def decode(frame: Frame, max_depth: int = MAX_DEPTH) -> Message | None:
    """Read one frame; None for a blank one.

    Never raises: what is not a message comes back as `Malformed`.
    """
    if len(frame) > 2 * max_depth and _is_too_deep(frame, max_depth):
        return _unread(frame, f"nested deeper than {max_depth} levels")
    if not frame.isascii() and not _is_utf8(frame):
        return _NOT_UTF8
    try:
        return _classify(_decode_envelope(frame))
    except NOT_JSON:
        return _look_again(frame)


def find_message(frame: Frame) -> Request | Notification | Success | Failure | None:
    """Find a message behind other bytes on the same line, such as an escape sequence."""
    start = frame.find(b'{"')
    found = None if start <= 0 else decode(frame[start:])
    return None if isinstance(found, Malformed | Batch) else found


def _classify(envelope: _Envelope) -> Item:
    method, id = envelope.method, envelope.id
    has_result, has_error = envelope.result is not ABSENT, envelope.error is not ABSENT
    if method is not UNSET:
        if id is UNSET:
            return Notification(method, envelope.params)
        return Request(id, method, envelope.params)
    if id is UNSET:
        if has_result or has_error:
            return Malformed("reply", "a reply without an id")
        return Malformed("call", "neither a method nor an id")
    if has_result and has_error:
        return Malformed("reply", "a reply with both a result and an error", id)
    if has_result:
        return Success(id, envelope.result)
    if has_error:
        return _failure(id, envelope.error)
    return Malformed("unclear", "neither a method nor a result nor an error", id)


def _failure(id: Id, raw: Raw) -> Failure | Malformed:
    try:
        error = _decode_error(raw)
    except NOT_JSON:
        return Malformed("reply", "a reply whose error has no integer code or no text", id)
    return Failure(
        id, ErrorObject(error.code, error.message, UNSET if error.data is ABSENT else error.data)
    )


def _look_again(frame: Frame) -> Message | None:
    """Find out what a frame was that did not read as an envelope."""
    text = bytes(frame).strip(b" \t\r\n").removeprefix(codecs.BOM_UTF8)
    if not text:
        return None
    if isinstance(frame, Oversized):
        return _unread(frame, f"longer than {frame.limit_bytes} bytes")
    if b"\\u" in text:
        text = _LONE_SURROGATE.sub(_replaced, text)
    if text.startswith(b"["):
        return _array(text)
    return _object(text)


def _object(text: bytes | Raw) -> Item:
    try:
        return _classify(_decode_envelope(text))
    except NOT_JSON:
        pass
    try:
        members = _decode_members(text)
    except NOT_JSON:
        return _no_object(text)
    return _broken(members)


def _no_object(text: bytes | Raw) -> Malformed:
    try:
        _decode_raw(text)
    except NOT_JSON:
        return Malformed("call", "not JSON", is_json=False)
    return Malformed("call", "not an object")


def _broken(members: dict[str, Raw]) -> Malformed:
    """Say what is wrong with an object that is not an envelope."""
    id, has_readable_id = _readable_id(members)
    if "method" not in members and ("result" in members or "error" in members):
        return Malformed("reply", "a reply that is not JSON-RPC 2.0", id)
    is_named = isinstance(_value(members.get("method")), str)
    if is_named and "id" not in members:
        return Malformed("notification", "a notification that is not JSON-RPC 2.0")
    if _value(members.get("jsonrpc")) != "2.0":
        return Malformed("call", "jsonrpc is not 2.0", id)
    if not is_named:
        return Malformed("call", "method is not a string", id)
    assert not has_readable_id
    return Malformed("call", "id is neither a string nor an integer")


def _readable_id(members: dict[str, Raw]) -> tuple[Id, bool]:
    try:
        return _decode_id(members["id"]), True
    except (KeyError, *NOT_JSON):
        return None, False


def _value(raw: Raw | None) -> Any:
    """Return a member's value; None when it is missing or cannot be read."""
    try:
        return None if raw is None else _decode_any(raw)
    except NOT_JSON:
        return None


def _array(text: bytes) -> Batch | Malformed:
    try:
        items = _decode_items(text)
    except NOT_JSON:
        return Malformed("call", "not JSON", is_json=False)
    if not items:
        return Malformed("call", "an empty array")
    if len(items) > MAX_BATCH:
        return Malformed("call", f"an array of more than {MAX_BATCH} entries")
    return Batch(tuple(_object(item) for item in items))


def _unread(frame: Frame, problem: str) -> Malformed:
    """Describe a frame that is refused unread; its id and role are looked for in its head."""
    head = _HEAD.match(frame)
    if head is None:
        return Malformed("call", problem)
    id: Id = _decode_id(head[1])
    return Malformed("call" if head[2] == b"method" else "reply", problem, id)


_HEAD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,19}|"[^"\\\x00-\x1f\x80-\xff]*")'
    rb'\s*,\s*"(method|result|error)"\s*:'
)
_LONE_SURROGATE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _replaced(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape[1] else escape[0]


def _is_utf8(frame: Frame) -> bool:
    """Check piece by piece, so that a long frame does not exist a second time as text."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(frame)
    try:
        for start in range(0, len(view), _PIECE):
            decoder.decode(view[start : start + _PIECE])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


_PIECE = 1 << 20
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'"[]{}'))


def _is_too_deep(frame: Frame, max_depth: int) -> bool:
    """Tell whether the brackets outside strings nest deeper than allowed.

    Counting them is enough nearly always. Otherwise everything but the structure is taken away, and
    then pair after pair from the inside: what is left after `max_depth` rounds was too deep.
    """
    if frame.count(b"[") + frame.count(b"{") <= max_depth:
        return False
    plain = re.sub(rb"\\.", b"", frame, flags=re.DOTALL) if b"\\" in frame else frame
    brackets = b"".join(plain.translate(None, _NOT_STRUCTURE).split(b'"')[::2])
    for _ in range(max_depth):
        if len(brackets) <= max_depth:
            return False
        shorter = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(brackets):
            return True
        brackets = shorter
    return bool(brackets)


_heads: dict[str, bytes] = {}


def _method_member(method: str) -> bytes:
    """Return `"method":"…"`, remembered: a program uses few names."""
    head = _heads.get(method)
    if head is None:
        head = b'"method":' + _encode_any(method)
        if len(_heads) < 1024:
            _heads[method] = head
    return head


def encode_notification(method: str, params: bytes | None) -> bytes:
    """Write a notification; `params` is JSON."""
    head = b'{"jsonrpc":"2.0",' + _method_member(method)
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_request(id: Id, method: str, params: bytes | None) -> bytes:
    """Write a request; `params` is JSON."""
    head = b'{"jsonrpc":"2.0","id":%b,%b' % (_encode_any(id), _method_member(method))
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_success(id: Id, result: bytes) -> bytes:
    """Write the answer to a request that worked; `result` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode_any(id), result)


def encode_failure(id: Id, error: ErrorObject) -> bytes:
    """Write the answer to a request that is refused, on one line of text."""
    one_line = " ".join(error.message.split())
    body: dict[str, Any] = {"code": error.code, "message": one_line}
    if error.data is not UNSET:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode_any(id), _encode_any(body))


def encode_batch(frames: list[bytes]) -> bytes:
    """Write several messages as one array."""
    return b"[%b]" % b",".join(frames)
