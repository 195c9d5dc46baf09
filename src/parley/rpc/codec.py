"""Frames to messages and back.

The usual frame is decoded in one pass over the envelope, with `params` and `result` left as bytes.
Only when that fails, a second look finds out what it was, because JSON-RPC asks for an answer that
fits: not JSON, JSON that is no message, a broken reply that somebody waits for, a broken
notification that must not be answered. What is not parsed at all is told by its ends: `unread.py`.

Defined here, because the specifications leave it open: of duplicate keys the last one counts; a BOM
and white space around a message are passed over; a lone surrogate escape reads as U+FFFD; a
message nested deeper than the limit is refused without being parsed. The depth of a frame of more
than a megabyte is not measured, since that costs more than to read it: there the parser's own guard
counts, which stops at about a thousand levels before Python 3.13 and at ten thousand with it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from parley.errors import RequestError, request_error

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
from .unread import begins_as_json, glimpse, is_too_deep, is_utf8

__all__ = [
    "MAX_BATCH",
    "MAX_DEPTH",
    "NOT_FITTING",
    "USUAL",
    "Item",
    "decode",
    "decode_notification",
    "encode_batch",
    "encode_failure",
    "encode_notification",
    "encode_request",
    "encode_success",
    "exception_of",
    "find_message",
    "method_member",
    "notification_head",
]

MAX_DEPTH = 128
"""How deep a message may nest; serde_json, on which other implementations stand, allows as much."""
_MEASURED_BYTES = 1024 * 1024
MAX_BATCH = 1000
"""How many entries an array may have."""

T = TypeVar("T")
Item: TypeAlias = Request | Notification | Success | Failure | Malformed


class _Envelope(Struct):
    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: int | str | None | UnsetType = UNSET
    params: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT


class _Members(Struct):
    """The members of an object that did not read as an envelope, whatever they hold."""

    jsonrpc: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


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
_decode_members = msgspec.json.Decoder(_Members).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_id = msgspec.json.Decoder(int | str | None).decode
_decode_version = msgspec.json.Decoder(Literal["2.0"]).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode_any = msgspec.json.Encoder().encode

NOT_FITTING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for what is not JSON, or JSON of another shape."""


def decode(frame: Frame, max_depth: int = MAX_DEPTH) -> Message | None:
    """Read one frame; None for a blank one.

    Never raises: what is not a message comes back as `Malformed`.
    """
    if isinstance(frame, Oversized):
        return _unread(frame, f"a message longer than {frame.limit_bytes} bytes")
    if 2 * max_depth < len(frame) <= _MEASURED_BYTES and is_too_deep(frame, max_depth):
        return _unread(frame, f"a message nested deeper than {max_depth} levels")
    if not frame.isascii() and not is_utf8(frame):
        return _illegible(frame, "not UTF-8")
    try:
        return _classify(_decode_envelope(frame))
    except RecursionError:
        return _unread(frame, f"a message nested much deeper than {max_depth} levels")
    except NOT_FITTING:
        return _look_again(frame)


def find_message(
    frame: Frame, max_depth: int = MAX_DEPTH
) -> Request | Notification | Success | Failure | None:
    """Find a message behind other bytes on the same line, such as an escape sequence."""
    start = frame.find(b'{"')
    found = None if start <= 0 else decode(frame[start:], max_depth)
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
    except NOT_FITTING:
        return Malformed("reply", "a reply whose error has no integer code or no text", id)
    return Failure(
        id, ErrorObject(error.code, error.message, UNSET if error.data is ABSENT else error.data)
    )


def _look_again(frame: Frame) -> Message | None:
    """Find out what a frame was that did not read as an envelope."""
    text = bytes(frame).strip(_SPACE).removeprefix(codecs.BOM_UTF8).lstrip(_SPACE)
    if not text:
        return None
    if b"\\u" in text:
        text = _mended(text)
    if text.startswith(b"["):
        return _array(text)
    return _object(text)


def _object(text: bytes | Raw) -> Item:
    try:
        return _classify(_decode_envelope(text))
    except RecursionError:
        return _unread(bytes(text), "a message nested too deeply")
    except NOT_FITTING:
        pass
    try:
        members = _decode_members(text)
    except NOT_FITTING:
        return _no_object(text)
    try:
        return _classify(_decode_envelope(_encode_any(members)))  # only a duplicate key was wrong
    except NOT_FITTING:
        return _broken(members)


def _no_object(text: bytes | Raw) -> Malformed:
    try:
        _decode_raw(text)
    except NOT_FITTING:
        return _illegible(bytes(text), "not JSON")
    return Malformed("call", "not an object")


def _broken(members: _Members) -> Malformed:
    """Say what is wrong with an object that is not an envelope."""
    id = _read(_decode_id, members.id)
    known_id: Id = None if id is UNSET else id
    if members.method is UNSET:
        if members.result is not UNSET or members.error is not UNSET:
            return Malformed("reply", "a reply that is not JSON-RPC 2.0", known_id)
        if id is not UNSET:
            return Malformed("unclear", "something that is not JSON-RPC 2.0", id)
    is_named = _read(_decode_text, members.method) is not UNSET
    if is_named and members.id is UNSET:
        return Malformed("notification", "a notification that is not JSON-RPC 2.0")
    if _read(_decode_version, members.jsonrpc) is UNSET:
        return Malformed("call", "jsonrpc is not 2.0", known_id)
    if not is_named:
        return Malformed("call", "method is not a string", known_id)
    return Malformed("call", "id is neither a string nor an integer")


def _read(decode_member: Callable[[Raw], T], raw: Raw | UnsetType) -> T | UnsetType:
    """Return the value of a member; UNSET when it is missing or of another type."""
    try:
        return UNSET if raw is UNSET else decode_member(raw)
    except NOT_FITTING:
        return UNSET


@cache
def _items_decoder() -> Callable[[bytes], Struct]:
    """Build the decoder of arrays, which keeps no entry beyond those that are too many."""
    fields = [(f"item_{number}", Raw, ABSENT) for number in range(MAX_BATCH + 1)]
    return msgspec.json.Decoder(msgspec.defstruct("_Items", fields, array_like=True)).decode


def _array(text: bytes) -> Batch | Malformed:
    try:
        entries = _items_decoder()(text)
    except RecursionError:
        return Malformed("call", "an array nested too deeply")
    except NOT_FITTING:
        return Malformed("call", "not JSON", is_json=False)
    items = [item for item in msgspec.structs.astuple(entries) if item is not ABSENT]
    if not items:
        return Malformed("call", "an empty array")
    if len(items) > MAX_BATCH:
        return Malformed("call", f"an array of more than {MAX_BATCH} entries")
    return Batch(tuple(_object(item) for item in items))


def _unread(frame: Frame, problem: str) -> Malformed:
    """Describe a frame that is refused without being parsed."""
    role, id = glimpse(frame)
    return Malformed(role, problem, id, is_json=begins_as_json(frame))


def _illegible(frame: Frame, problem: str) -> Malformed:
    """Describe a frame that cannot be parsed: a reply still fails the call that waits for it."""
    role, id = glimpse(frame)
    if role == "reply":
        return Malformed("reply", f"a reply that is {problem}", id, is_json=False)
    return Malformed("call", problem, is_json=False)


_SPACE = b" \t\r\n"
_UP_TO_LONE_SURROGATE = re.compile(
    rb"((?:[^\\]++|\\[^u]|\\u(?:[^dD]|[dD][0-7])"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+)"
    rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def _mended(text: bytes) -> bytes:
    """Replace lone surrogates: what JavaScript makes of a character that it cuts in two."""
    mended, position = bytearray(), 0
    while found := _UP_TO_LONE_SURROGATE.match(text, position):
        mended += found[1]
        mended += rb"\ufffd"
        position = found.end()
    return bytes(mended + text[position:]) if mended else text


_heads: dict[str, bytes] = {}


def method_member(method: str) -> bytes:
    """Return `"method":"…"`, remembered: a program uses few names, and short ones."""
    head = _heads.get(method)
    if head is None:
        head = b'"method":' + _encode_any(method)
        if len(_heads) < 1024 and len(head) < 256:
            _heads[method] = head
    return head


def notification_head(method: str) -> bytes:
    """Return how a notification begins, up to its params."""
    return b'{"jsonrpc":"2.0",' + method_member(method)


def encode_notification(method: str, params: bytes | None) -> bytes:
    """Write a notification; `params` is JSON."""
    head = notification_head(method)
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_request(id: Id, method: str, params: bytes | None) -> bytes:
    """Write a request; `params` is JSON."""
    head = b'{"jsonrpc":"2.0","id":%b,%b' % (_encode_any(id), method_member(method))
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_success(id: Id, result: bytes) -> bytes:
    """Write the answer to a request that worked; `result` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode_any(id), result)


def encode_failure(id: Id, error: ErrorObject) -> bytes:
    """Write the answer to a request that is refused, on one line of text that UTF-8 can hold."""
    one_line = " ".join(error.message.encode(errors="replace").decode().split())
    body: dict[str, Any] = {"code": error.code, "message": one_line}
    if error.data is not UNSET:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode_any(id), _encode_any(body))


def exception_of(error: ErrorObject) -> RequestError:
    """Return the exception for a peer's error object; data that cannot be read is left out."""
    if not isinstance(error.data, Raw):
        return request_error(error.code, error.message)
    try:
        return request_error(error.code, error.message, msgspec.json.decode(error.data))
    except NOT_FITTING:
        return request_error(error.code, error.message)


def encode_batch(frames: list[bytes]) -> bytes:
    """Write several messages as one array."""
    return b"[%b]" % b",".join(frames)
