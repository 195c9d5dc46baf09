"""The wrapper that a proxy and its conductor use for messages of the proxy's successor.

A message to the successor of a proxy, or from it, is the params of a `proxy/successor`: an outer id
makes it a request. Answers are never wrapped, and `$/cancel_request` is not, because it is about
ids of this very pipe. The params inside stay the bytes that they are.

Spec: https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

from parley.errors import InvalidParams, RequestError
from parley.proxy._switch.patching import merge_meta
from parley.proxy._switch.renumber import CANCEL
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame
from parley.rpc._message import (
    ABSENT,
    Batch,
    Message,
    Notification,
    Request,
)

SUCCESSOR = "proxy/successor"
FORMER_SUCCESSOR = "_proxy/successor"
"""The name before it was in the schema; the Rust SDK has it."""
INITIALIZE = ("proxy/initialize", "_proxy/initialize")
"""The method that initializes a component with a successor, in both spellings."""
CONDUCTOR_METHODS = frozenset({SUCCESSOR, FORMER_SUCCESSOR, *INITIALIZE})
"""The methods that only a conductor and its proxies use."""

_BARE = b'{"jsonrpc":"2.0",'
"""The usual beginning of a message."""
_OPENERS = {
    name: codec.notification_head(name) + b',"params":{' for name in (SUCCESSOR, FORMER_SUCCESSOR)
}
"""The beginning of a wrapped notification, by spelling."""
_HEADS = tuple(_OPENERS.values())


class _Inner(Struct):
    method: str
    params: Raw = ABSENT
    meta: Raw = field(name="_meta", default=ABSENT)
    rfd_meta: Raw = field(name="meta", default=ABSENT)
    peer: Raw = ABSENT


class _Outer(Struct):
    id: Raw


_MAX_DEPTH = codec.MAX_DEPTH + 1
"""A wrapper is one level."""
_decode_outer = msgspec.json.Decoder(_Outer).decode
_decode_inner = msgspec.json.Decoder(_Inner).decode


class WrapRejected(Exception):
    """A wrapped message that cannot be forwarded."""

    def __init__(self, id: Raw, error: RequestError) -> None:
        super().__init__(str(error))
        self.id = id
        """The id of the request, as it is written; empty for a notification."""
        self.error = error


def wrap(frame: bytes, successor: str) -> bytes:
    """Wrap a message; responses and malformed frames stay unchanged.

    Args:
        frame: What a port sends; may be an array.
        successor: How to spell the method.
    """
    if frame.startswith(codec.NOTIFICATION_PREFIX):
        try:
            note = codec.decode_notification(frame)
        except DECODE_ERRORS:
            pass
        else:  # only a method and params: they are forwarded as they are, in bytes
            if note.method != CANCEL:
                return _OPENERS[successor] + frame[len(_BARE) :] + b"}"
    message = codec.decode(frame)
    match message:
        case Notification(method, params):
            return _wrap(b"", method, params, successor)
        case Request(id, method, params):
            return _wrap(b'"id":%b,' % msgspec.json.encode(id), method, params, successor)
        case Batch():
            entries = msgspec.json.decode(frame, type=list[Raw])
            return codec.encode_batch([wrap(bytes(entry), successor) for entry in entries])
        case _:
            return frame


def _wrap(id: bytes, method: str, params: Raw, successor: str) -> bytes:
    if method == CANCEL:
        return codec.encode_notification(method, bytes(params) or b"{}")
    member = b',"params":' + params if len(params) else b""
    outer, inner = codec.method_member(successor), codec.method_member(method)
    return b'{"jsonrpc":"2.0",%b%b,"params":{%b%b}}' % (id, outer, inner, member)


def successor_for(method: str) -> str:
    """Return the spelling of the wrapper that belongs to this spelling of `proxy/initialize`."""
    return FORMER_SUCCESSOR if method == INITIALIZE[1] else SUCCESSOR


def is_wrapped(method: str) -> bool:
    """Return whether a method carries a message of the successor."""
    return method in (SUCCESSOR, FORMER_SUCCESSOR)


def unwrap(frame: Frame) -> bytes | Message | None:
    """Take the wrapper off; what has none is returned as what it is read as.

    Raises:
        WrapRejected: It names an unknown peer, or does not contain a message.
    """
    if frame.startswith(_HEADS) and (usual := _unwrap_usual(frame)) is not None:
        return usual
    message = codec.decode(frame, _MAX_DEPTH)
    if not isinstance(message, Request | Notification) or not is_wrapped(message.method):
        return message
    id = _id_of(frame, message) if isinstance(message, Request) else ABSENT
    try:
        return _unwrap_inner(id, _decode_inner(message.params))
    except DECODE_ERRORS as error:
        raise WrapRejected(
            id, InvalidParams("proxy/successor does not contain a message")
        ) from error


def _id_of(frame: Frame, request: Request) -> Raw:
    """Return the id of a request as it is written, if the frame can be read as it is."""
    try:
        return _decode_outer(frame).id
    except DECODE_ERRORS:
        return Raw(msgspec.json.encode(request.id))


def _unwrap_usual(frame: Frame) -> bytes | None:
    """Return a notification whose wrapper has nothing else in it, as nearly all are.

    It begins after the second brace. If it is whole without the last one, that was the wrapper's.
    """
    inside = _BARE + frame[frame.find(b"{", 1) + 1 : -1]
    try:
        method = codec.decode_notification(inside).method
    except DECODE_ERRORS:
        return None
    is_message = method and frame.endswith(b"}") and not is_wrapped(method)
    return inside if is_message else None


def _unwrap_inner(id: Raw, inner: _Inner) -> bytes:
    """Return what was wrapped, under the id that its wrapper has."""
    method, params = inner.method, inner.params
    if inner.peer is not ABSENT and bytes(inner.peer) != b"null":
        raise WrapRejected(id, InvalidParams("The peer is unknown; leave it out"))
    if is_wrapped(method) or not method:
        raise WrapRejected(id, InvalidParams("proxy/successor does not contain a message"))
    if inner.meta is not ABSENT:
        params = merge_meta(params, inner.meta)
    if inner.rfd_meta is not ABSENT:
        params = merge_meta(params, inner.rfd_meta)
    member = b',"params":' + params if len(params) else b""
    if id is ABSENT:
        return b'{"jsonrpc":"2.0",%b%b}' % (codec.method_member(method), member)
    return b'{"jsonrpc":"2.0","id":%b,%b%b}' % (id, codec.method_member(method), member)
