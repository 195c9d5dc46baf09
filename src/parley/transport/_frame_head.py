"""The head of a frame: what code that routes or records frames needs to know of them.

`peek` reads the method, the id, the session, the kind of an update, the id of a request that is
referred to and the protocol version, in one pass and without decoding the rest. `peek_params` does
the same for params or a result alone. `peek_update_session` is the quick test for plain updates,
which are most of the traffic.

`peek_session` returns only the session of params, and `peek_meta` a value in their `_meta`.

These functions know where ACP's messages have these members, but not what any of them means. They
are here because transports over HTTP are the lowest users: `rpc` knows no member of params, and
`schema` knows no frames.

A peer that encodes a message knows its head already. It passes that head to the transport together
with the frame (`Transport.send`), so that no transport reads what its own peer has just written;
`head_of_values` makes it from values that are not encoded yet.

No function raises. A member that is missing counts as absent, and so does one of a wrong type,
without hiding the others: the handler of the message reports what is wrong with it.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame
from parley.rpc._message import Id
from parley.schema.base import Unknown

UPDATE_PREFIX = b'{"jsonrpc":"2.0","method":"session/update",'
"""The start of an update, as every known program encodes it."""


class UpdateHead(Struct, frozen=True, gc=False):
    """The head of a session update."""

    kind: str = field(name="sessionUpdate", default="")


class ParamsHead(Struct, frozen=True, gc=False):
    """The head of params or of a result."""

    session_id: str | None = field(name="sessionId", default=None)
    request_id: Id | UnsetType = field(name="requestId", default=UNSET)
    protocol_version: int | None = field(name="protocolVersion", default=None)
    update: UpdateHead = UpdateHead()


NO_PARAMS = ParamsHead()
"""The head of params that are missing or not an object."""


class FrameHead(Struct, frozen=True, gc=False):
    """The head of a message; all members are absent if the frame is not a message."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: ParamsHead = NO_PARAMS
    result: ParamsHead | UnsetType = UNSET

    @property
    def is_message(self) -> bool:
        """Whether the frame is a request, a notification or a response."""
        return self.method is not UNSET or self.id is not UNSET


class _Envelope(Struct):
    """A `FrameHead` whose params or result do not have the expected types."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: Raw = Raw()
    result: Raw | UnsetType = UNSET


class _Members(Struct):
    """A `ParamsHead` whose members do not have the expected types."""

    session_id: Raw = field(name="sessionId", default=Raw())
    request_id: Raw = field(name="requestId", default=Raw())
    protocol_version: Raw = field(name="protocolVersion", default=Raw())
    update: Raw = Raw()


class _WithSession(Struct):
    session_id: str | None = field(name="sessionId", default=None)


class _WithMeta(Struct):
    meta: Any = field(name="_meta", default=None)


class _UpdateParams(Struct):
    session_id: str = field(name="sessionId")


class _Update(Struct, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    method: Literal["session/update"]
    params: _UpdateParams


_decode_head = msgspec.json.Decoder(FrameHead).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_params = msgspec.json.Decoder(ParamsHead).decode
_decode_members = msgspec.json.Decoder(_Members).decode
_decode_session_id = msgspec.json.Decoder(str | None).decode
_decode_request_id = msgspec.json.Decoder(Id).decode
_decode_version = msgspec.json.Decoder(int | None).decode
_decode_session = msgspec.json.Decoder(_WithSession).decode
_decode_meta = msgspec.json.Decoder(_WithMeta).decode
_decode_update_head = msgspec.json.Decoder(UpdateHead).decode
_decode_update = msgspec.json.Decoder(_Update).decode
_NOT_A_MESSAGE = FrameHead()


def peek(frame: Frame) -> FrameHead:
    """Return the head of a frame; an empty one if it is a batch or not a message."""
    try:
        return _decode_head(frame)
    except DECODE_ERRORS:
        pass
    try:
        envelope = _decode_envelope(frame)
    except DECODE_ERRORS:
        return _NOT_A_MESSAGE
    result = UNSET if envelope.result is UNSET else peek_params(envelope.result)
    return FrameHead(envelope.method, envelope.id, peek_params(envelope.params), result)


def peek_params(raw: Raw) -> ParamsHead:
    """Return the head of params or of a result; an empty one if they are not an object."""
    if not len(raw):
        return NO_PARAMS
    try:
        return _decode_params(raw)
    except DECODE_ERRORS:
        pass
    try:
        members = _decode_members(raw)
    except DECODE_ERRORS:
        return NO_PARAMS
    return ParamsHead(
        _or_default(_decode_session_id, members.session_id, None),
        _or_default(_decode_request_id, members.request_id, UNSET),
        _or_default(_decode_version, members.protocol_version, None),
        _or_default(_decode_update_head, members.update, UpdateHead()),
    )


def head_of_values(value: object) -> ParamsHead | None:
    """Return the head of params or of a result before they are encoded.

    Only the session and the id of another request are filled in. The result is None for values that
    are JSON already, or a dict: then only `peek` can find them. A null id counts as absent.
    """
    if value is None:
        return NO_PARAMS
    if not isinstance(value, Struct) or isinstance(value, Unknown):
        return None
    request_id = getattr(value, "request_id", None)
    return ParamsHead(
        getattr(value, "session_id", None) or None, UNSET if request_id is None else request_id
    )


def peek_session(raw: Raw) -> str:
    """Return the session that params or a result name; empty if there is none."""
    if not len(raw):
        return ""
    try:
        return _decode_session(raw).session_id or ""
    except DECODE_ERRORS:
        return ""


def peek_meta(raw: Raw, *names: str) -> object:
    """Return a value in the `_meta` of params; None if it is missing.

    Args:
        raw: The params.
        names: The names of the members on the way, such as `"parley", "role"`.
    """
    try:
        value: object = _decode_meta(raw).meta
    except DECODE_ERRORS:
        return None
    for name in names:
        value = cast(dict[str, object], value).get(name) if isinstance(value, dict) else None
    return value


def _or_default(decode: Any, raw: Raw, default: Any) -> Any:
    try:
        return decode(raw)
    except DECODE_ERRORS:
        return default


def peek_update_session(frame: Frame) -> str | None:
    """Return the session of a plain update, or None for anything else.

    Nearly all frames are plain updates, so this is quick. A frame that starts like one is still
    decoded, because a second `method` or an `id` may follow, which makes it something else.
    """
    if not frame.startswith(UPDATE_PREFIX):
        return None
    try:
        return _decode_update(frame).params.session_id
    except DECODE_ERRORS:
        return None
