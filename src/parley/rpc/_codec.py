"""The JSON-RPC codec: frames to messages and back.

The usual frame is decoded in one pass over the envelope, with `params` and `result` left as bytes.
Only if that fails, a second pass classifies the frame, because JSON-RPC requires a matching
reaction: it may be not JSON, JSON that is not a message, a malformed response that a request is
waiting for, or a malformed notification, which gets no response. A frame that is not parsed at all
is classified by its two ends: see `_peek.py`.

Defined here, because the specifications leave it open: of duplicate keys, the last one counts; a
BOM and white space around a message are skipped; a lone surrogate escape is read as U+FFFD; a
message nested deeper than the limit is rejected without being parsed. The depth of a frame of more
than a megabyte is not measured, since that costs more than parsing it. For those, the parser's own
guard applies, which stops at about a thousand levels before Python 3.13 and at ten thousand since.
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

from ._framing import Frame, OversizedFrame
from ._message import (
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
from ._peek import (
    begins_as_json,
    is_too_deep,
    is_utf8,
    peek_role_and_id,
)

MAX_DEPTH = 128
"""Maximum nesting depth; the same as in serde_json, which other implementations use."""
_MEASURED_BYTES = 1024 * 1024
MAX_BATCH = 1000
"""Maximum number of entries in a batch."""

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
    """The undecoded members of an object that is not a valid envelope."""

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


NOTIFICATION_PREFIX = b'{"jsonrpc":"2.0","method":'
"""The usual start of a notification; requests and responses rarely start like this."""

decode_notification = msgspec.json.Decoder(Notification).decode
"""Decode a frame that has only the members of a notification; raises for any other."""
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_error = msgspec.json.Decoder(_Error).decode
_decode_members = msgspec.json.Decoder(_Members).decode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_id = msgspec.json.Decoder(int | str | None).decode
_decode_version = msgspec.json.Decoder(Literal["2.0"]).decode
_decode_text = msgspec.json.Decoder(str).decode
_encode_any = msgspec.json.Encoder().encode

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions that a decoder raises for invalid JSON, or JSON that does not match the type."""


def decode(frame: Frame, max_depth: int = MAX_DEPTH) -> Message | None:
    """Return the message in a frame; None for a blank frame.

    Never raises: an invalid message is returned as `Malformed`.
    """
    if isinstance(frame, OversizedFrame):
        return _malformed_frame(frame, f"a message longer than {frame.limit_bytes} bytes")
    if 2 * max_depth < len(frame) <= _MEASURED_BYTES and is_too_deep(frame, max_depth):
        return _malformed_frame(frame, f"a message nested deeper than {max_depth} levels")
    if not frame.isascii() and not is_utf8(frame):
        return _describe_undecodable(frame, "not UTF-8")
    try:
        return _classify(_decode_envelope(frame))
    except RecursionError:
        return _malformed_frame(frame, f"a message nested much deeper than {max_depth} levels")
    except DECODE_ERRORS:
        return _classify_malformed(frame)


def find_message(
    frame: Frame, max_depth: int = MAX_DEPTH
) -> Request | Notification | Success | Failure | None:
    """Return a message that follows other bytes on the same line, such as an escape sequence."""
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
            return Malformed("response", "a response without an id")
        return Malformed("request", "neither a method nor an id")
    if has_result and has_error:
        return Malformed("response", "a response with both a result and an error", id)
    if has_result:
        return Success(id, envelope.result)
    if has_error:
        return _failure(id, envelope.error)
    return Malformed("unclear", "neither a method nor a result nor an error", id)


def _failure(id: Id, raw: Raw) -> Failure | Malformed:
    try:
        error = _decode_error(raw)
    except DECODE_ERRORS:
        return Malformed("response", "a response whose error has no integer code or no text", id)
    return Failure(
        id, ErrorObject(error.code, error.message, UNSET if error.data is ABSENT else error.data)
    )


def _classify_malformed(frame: Frame) -> Message | None:
    """Return the message in a frame that did not decode as an envelope."""
    text = bytes(frame).strip(_SPACE).removeprefix(codecs.BOM_UTF8).lstrip(_SPACE)
    if not text:
        return None
    if b"\\u" in text:
        text = _replace_lone_surrogates(text)
    if text.startswith(b"["):
        return _decode_batch(text)
    return _object(text)


def _object(text: bytes | Raw) -> Item:
    try:
        return _classify(_decode_envelope(text))
    except RecursionError:
        return _malformed_frame(bytes(text), "a message nested too deeply")
    except DECODE_ERRORS:
        pass
    try:
        members = _decode_members(text)
    except DECODE_ERRORS:
        return _not_an_object(text)
    try:
        # Succeeds if only an overridden duplicate key was invalid.
        return _classify(_decode_envelope(_encode_any(members)))
    except DECODE_ERRORS:
        return _malformed_members(members)


def _not_an_object(text: bytes | Raw) -> Malformed:
    try:
        _decode_raw(text)
    except DECODE_ERRORS:
        return _describe_undecodable(bytes(text), "not JSON")
    return Malformed("request", "not an object")


def _malformed_members(members: _Members) -> Malformed:
    """Describe the problem with an object that is not a valid envelope."""
    id = _read(_decode_id, members.id)
    known_id: Id = None if id is UNSET else id
    if members.method is UNSET:
        if members.result is not UNSET or members.error is not UNSET:
            return Malformed("response", "a response that is not JSON-RPC 2.0", known_id)
        if id is not UNSET:
            return Malformed("unclear", "something that is not JSON-RPC 2.0", id)
    is_named = _read(_decode_text, members.method) is not UNSET
    if is_named and members.id is UNSET:
        return Malformed("notification", "a notification that is not JSON-RPC 2.0")
    if _read(_decode_version, members.jsonrpc) is UNSET:
        return Malformed("request", "jsonrpc is not 2.0", known_id)
    if not is_named:
        return Malformed("request", "method is not a string", known_id)
    return Malformed("request", "id is neither a string nor an integer")


def _read(decode_member: Callable[[Raw], T], raw: Raw | UnsetType) -> T | UnsetType:
    """Return the value of a member; UNSET if it is missing or has another type."""
    try:
        return UNSET if raw is UNSET else decode_member(raw)
    except DECODE_ERRORS:
        return UNSET


@cache
def _items_decoder() -> Callable[[bytes], Struct]:
    """Return the decoder of batches, which keeps at most one entry above the limit."""
    fields = [(f"item_{number}", Raw, ABSENT) for number in range(MAX_BATCH + 1)]
    return msgspec.json.Decoder(msgspec.defstruct("_Items", fields, array_like=True)).decode


def _decode_batch(text: bytes) -> Batch | Malformed:
    try:
        entries = _items_decoder()(text)
    except RecursionError:
        return Malformed("request", "a batch nested too deeply")
    except DECODE_ERRORS:
        return Malformed("request", "not JSON", is_json=False)
    items = [item for item in msgspec.structs.astuple(entries) if item is not ABSENT]
    if not items:
        return Malformed("request", "an empty batch")
    if len(items) > MAX_BATCH:
        return Malformed("request", f"a batch of more than {MAX_BATCH} entries")
    return Batch(tuple(_object(item) for item in items))


def _malformed_frame(frame: Frame, problem: str) -> Malformed:
    """Describe a frame that is rejected without being parsed."""
    role, id = peek_role_and_id(frame)
    return Malformed(role, problem, id, is_json=begins_as_json(frame))


def _describe_undecodable(frame: Frame, problem: str) -> Malformed:
    """Describe a frame that cannot be parsed; a response still fails the request it belongs to."""
    role, id = peek_role_and_id(frame)
    if role == "response":
        return Malformed("response", f"a response that is {problem}", id, is_json=False)
    return Malformed("request", problem, is_json=False)


_SPACE = b" \t\r\n"
_UP_TO_LONE_SURROGATE = re.compile(
    rb"((?:[^\\]++|\\[^u]|\\u(?:[^dD]|[dD][0-7])"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+)"
    rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def _replace_lone_surrogates(text: bytes) -> bytes:
    """Replace lone surrogates, which JavaScript produces when it cuts a character in two."""
    replaced, position = bytearray(), 0
    while found := _UP_TO_LONE_SURROGATE.match(text, position):
        replaced += found[1]
        replaced += rb"\ufffd"
        position = found.end()
    return bytes(replaced + text[position:]) if replaced else text


_heads: dict[str, bytes] = {}


def method_member(method: str) -> bytes:
    """Return `"method":"…"`; cached, because a program uses few and short method names."""
    head = _heads.get(method)
    if head is None:
        head = b'"method":' + _encode_any(method)
        if len(_heads) < 1024 and len(head) < 256:
            _heads[method] = head
    return head


def notification_head(method: str) -> bytes:
    """Return the start of a notification, up to its params."""
    return b'{"jsonrpc":"2.0",' + method_member(method)


def encode_notification(method: str, params: bytes | None) -> bytes:
    """Encode a notification; `params` is JSON."""
    head = notification_head(method)
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_request(id: Id, method: str, params: bytes | None) -> bytes:
    """Encode a request; `params` is JSON."""
    head = b'{"jsonrpc":"2.0","id":%b,%b' % (_encode_any(id), method_member(method))
    return head + b"}" if params is None else b'%b,"params":%b}' % (head, params)


def encode_success(id: Id, result: bytes) -> bytes:
    """Encode the response to a successful request; `result` is JSON."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode_any(id), result)


def encode_failure(id: Id, error: ErrorObject) -> bytes:
    """Encode an error response; the message becomes one line of valid UTF-8."""
    one_line = " ".join(error.message.encode(errors="replace").decode().split())
    body: dict[str, Any] = {"code": error.code, "message": one_line}
    if error.data is not UNSET:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode_any(id), _encode_any(body))


def to_exception(error: ErrorObject) -> RequestError:
    """Return the exception for a peer's error object; unreadable data is left out."""
    if not isinstance(error.data, Raw):
        return request_error(error.code, error.message)
    try:
        return request_error(error.code, error.message, msgspec.json.decode(error.data))
    except DECODE_ERRORS:
        return request_error(error.code, error.message)


def encode_batch(frames: list[bytes]) -> bytes:
    """Encode several messages as one batch."""
    return b"[%b]" % b",".join(frames)
