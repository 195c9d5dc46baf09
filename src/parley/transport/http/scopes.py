"""Which stream a message belongs to: the connection's or that of one session.

What a session's is, follows from the method tables: a method whose params have a session. The
answers to it go to the session's stream, except those that open, load or end a session: these go to
the connection's, because the client may not read the session's stream yet, or no longer.

`read_head` looks at what the route needs and at nothing else of a frame.
Spec: https://agentclientprotocol.com/rfds/streamable-http-websocket-transport
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.rpc.codec import NOT_FITTING
from parley.schema.sessions import CLOSES, REOPENS
from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.former_methods import DOCUMENT_METHODS, NES_METHODS
from parley.schema.v2.methods import TABLE as V2

__all__ = [
    "CANCEL_REQUEST",
    "FORK",
    "INITIALIZE",
    "UPDATE_HEAD",
    "Head",
    "Params",
    "Scope",
    "needs_header",
    "read_head",
    "read_params",
    "scope_of",
]

INITIALIZE = "initialize"
CANCEL_REQUEST = "$/cancel_request"
FORK = "session/fork"
"""It names one session and opens another."""
UPDATE_HEAD = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'
"""How Parley's own updates begin, up to the session."""

Scope: TypeAlias = Literal["connection", "session", "opening", "loading", "closing"]
"""Where a request belongs. All but the first and `opening` need a session; the answers to the last
two, and to `opening`, go to the connection's stream. A fork needs a session and is `loading`."""

_LOADING = REOPENS | {FORK}
_CLOSING = CLOSES | {"nes/close"}
_METHODS = (*V1.methods, *V2.methods, *NES_METHODS, *DOCUMENT_METHODS)
_TO_AGENT = [method for method in _METHODS if method.to != "client"]
_OPENING = frozenset(m.name for m in _TO_AGENT if m.opens_session and m.session is None)
_OF_SESSIONS = frozenset(m.name for m in _TO_AGENT if m.session is not None) | {"session/set_model"}


def scope_of(method: str) -> Scope | None:
    """Return where a method belongs that a client calls; None for one that nobody has listed."""
    if method in _OPENING:
        return "opening"
    if method in _LOADING:
        return "loading"
    if method in _CLOSING:
        return "closing"
    if method in _OF_SESSIONS:
        return "session"
    return None if method.startswith("_") or method not in _LISTED else "connection"


def needs_header(method: str) -> bool:
    """Tell whether the session must be named in a header, and not in the params alone.

    That is so for what every SDK sends with the header. The others disagree about the rest.
    """
    return method in _WITH_HEADER


_LISTED = frozenset(method.name for method in _TO_AGENT)
_WITH_HEADER = frozenset(
    f"session/{each}" for each in ("prompt", "cancel", "close", "set_mode", "set_config_option")
)


class Params(Struct):
    """What the route needs of params and results."""

    session_id: str | UnsetType = field(name="sessionId", default=UNSET)
    request_id: int | str | None | UnsetType = field(name="requestId", default=UNSET)


class Head(Struct):
    """What the route needs of a message."""

    method: str | UnsetType = UNSET
    id: int | str | None | UnsetType = UNSET
    params: Params | UnsetType = UNSET
    result: Params | UnsetType = UNSET


class _Loose(Struct):
    """The same where params or result are something else than an object with these members."""

    method: str | UnsetType = UNSET
    id: int | str | None | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET


class _Session(Struct):
    session_id: str = field(name="sessionId")


_read = msgspec.json.Decoder(Head).decode
_read_loose = msgspec.json.Decoder(_Loose).decode
_read_params = msgspec.json.Decoder(Params).decode
_read_session = msgspec.json.Decoder(_Session).decode
_NOWHERE = Head()


def read_head(frame: bytes) -> Head:
    """Read what the route of a frame needs; what is no message belongs to the connection."""
    try:
        return _read(frame)
    except NOT_FITTING:
        pass
    try:
        loose = _read_loose(frame)
    except NOT_FITTING:
        return _NOWHERE
    result = UNSET if loose.result is UNSET else read_params(loose.result)
    return Head(loose.method, loose.id, read_params(loose.params), result)


def read_params(raw: Raw | UnsetType) -> Params:
    """Read what the route needs of params that may be anything."""
    if raw is UNSET or not raw:
        return Params()
    try:
        return _read_params(raw)
    except NOT_FITTING:
        pass
    try:
        return Params(session_id=_read_session(raw).session_id)
    except NOT_FITTING:
        return Params()
