"""Messages under other ids."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw

from parley.rpc import _codec as codec
from parley.rpc._message import Failure, Success
from parley.transport._frame_head import peek_params

from .messages import PendingRequest
from .splice import AmbiguousMessage, locate, splice_id

CANCEL = "$/cancel_request"
"""The notification that withdraws a request; its id is of one hop."""
_ELICITATION = "elicitation/create"
"""The request that may name another one by its id in its params."""


def renumber_request(call: PendingRequest, id: int) -> bytes:
    """Return a request under the id of its destination."""
    frame = call.frame
    if call.method == _ELICITATION and call.origin is not None:
        frame = _renumber_reference(call, frame)
    try:
        spliced = splice_id(frame, b"%d" % id)
    except AmbiguousMessage:  # seen before, and refused
        spliced = None
    if spliced is not None:
        return spliced[0]
    params = bytes(call.params) if len(call.params) else None
    return codec.encode_request(id, call.method, params)


def _renumber_reference(call: PendingRequest, frame: bytes) -> bytes:
    """Exchange the id in the params of a request that is about another request."""
    assert call.origin is not None
    id = peek_params(call.params).request_id
    about = None if id is UNSET else call.origin.find_unanswered(id)
    if about is None:
        return frame
    try:
        start, end = locate(frame, "params")["params"]
    except (*codec.DECODE_ERRORS, AmbiguousMessage, KeyError):
        return frame
    body = replace_member(frame[start:end], "requestId", about.raw_id)
    call.params = Raw(body)
    return b"%b%b%b" % (frame[:start], body, frame[end:])


def replace_member(body: bytes, name: str, value: bytes) -> bytes:
    """Return an object with another value of one member."""
    try:
        start, end = locate(body, name)[name]
    except (*codec.DECODE_ERRORS, AmbiguousMessage, KeyError):
        return b'{"%b":%b}' % (name.encode(), value)
    return b"%b%b%b" % (body[:start], value, body[end:])


def renumber_response(frame: bytes, message: Success | Failure, raw_id: bytes) -> bytes:
    """Return a response with the id of the requester."""
    try:
        spliced = splice_id(frame, raw_id)
    except AmbiguousMessage:
        spliced = None
    if spliced is not None:
        return spliced[0]
    if isinstance(message, Failure):
        return codec.encode_failure(msgspec.json.decode(raw_id), message.error)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (raw_id, bytes(message.result))
