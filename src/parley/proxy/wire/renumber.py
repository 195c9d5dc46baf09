"""Messages under other ids."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from parley.rpc import _codec as codec
from parley.rpc._message import Failure, Success

from .splice import Ambiguous, locate, splice
from .traffic import Call, named

__all__ = ["CANCEL", "as_asked", "exchanged", "renumbered"]

CANCEL = "$/cancel_request"
"""The notification that withdraws a request; its id is of one hop."""
_REFERS = "elicitation/create"
"""The request whose params may name another one by its id."""


def as_asked(call: Call, id: int) -> bytes:
    """Return a request under the id of its destination."""
    frame = call.frame
    if call.method == _REFERS and call.origin is not None:
        frame = _referring(call, frame)
    try:
        spliced = splice(frame, b"%d" % id)
    except Ambiguous:  # seen before, and refused
        spliced = None
    if spliced is not None:
        return spliced[0]
    params = bytes(call.params) if len(call.params) else None
    return codec.encode_request(id, call.method, params)


def _referring(call: Call, frame: bytes) -> bytes:
    """Exchange the id in the params of a request that is about another request."""
    assert call.origin is not None
    try:
        id = msgspec.json.decode(named(call.params).request_id, type=int | str | None)
        about = call.origin.find_asked(id)
        if about is None:
            return frame
        start, end = locate(frame, "params")["params"]
    except (*codec.DECODE_ERRORS, Ambiguous, KeyError):
        return frame
    body = exchanged(frame[start:end], "requestId", about.raw_id)
    call.params = Raw(body)
    return b"%b%b%b" % (frame[:start], body, frame[end:])


def exchanged(body: bytes, name: str, value: bytes) -> bytes:
    """Return an object with another value of one member."""
    try:
        start, end = locate(body, name)[name]
    except (*codec.DECODE_ERRORS, Ambiguous, KeyError):
        return b'{"%b":%b}' % (name.encode(), value)
    return b"%b%b%b" % (body[:start], value, body[end:])


def renumbered(frame: bytes, message: Success | Failure, raw_id: bytes) -> bytes:
    """Return an answer under the id of who asked."""
    try:
        spliced = splice(frame, raw_id)
    except Ambiguous:
        spliced = None
    if spliced is not None:
        return spliced[0]
    if isinstance(message, Failure):
        return codec.encode_failure(msgspec.json.decode(raw_id), message.error)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (raw_id, bytes(message.result))
