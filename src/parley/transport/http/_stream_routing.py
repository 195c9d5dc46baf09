"""Routing of messages to streams: the connection's stream, or that of one session.

The method tables decide: a method whose params have a session belongs to that session, and the
responses to it go to the session's stream. Responses to requests that open, load or close a session
go to the connection's stream, because the client may not be reading the session's stream yet, or
may have stopped reading it.
Spec: https://agentclientprotocol.com/rfds/streamable-http-websocket-transport
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema._session_methods import CLOSES, REOPENS
from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.methods import DOCUMENT_METHODS, NES_METHODS
from parley.schema.v2.methods import TABLE as V2

INITIALIZE = "initialize"
CANCEL_REQUEST = "$/cancel_request"
FORK = "session/fork"
"""Names one session and opens another."""
UPDATE_HEAD = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'
"""The prefix of the updates that Parley encodes, up to the session id."""

Scope: TypeAlias = Literal[
    "connection", "session", "opening", "loading", "closing", "stored", "extension"
]
"""The scope of a request. All but `connection` and `opening` need a session.

Responses to `opening`, `loading`, `closing` and `stored` requests go to the connection's stream. A
fork needs a session and is `loading`. A `stored` session may not be open, in which case nobody
reads its stream. An `extension` is an unknown method that names a session, which may not exist."""

_LOADING = REOPENS | {FORK}
_CLOSING = CLOSES | {"nes/close"}
_STORED = frozenset({"session/unarchive", "session/status", "session/set_title"})
_METHODS = (*V1.methods, *V2.methods, *NES_METHODS, *DOCUMENT_METHODS)
_TO_AGENT = [method for method in _METHODS if method.to != "client"]
_OPENING = frozenset(m.name for m in _TO_AGENT if m.opens_session and m.session is None)
_OF_SESSIONS = frozenset(m.name for m in _TO_AGENT if m.session is not None) | {"session/set_model"}


def scope_of(method: str) -> Scope | None:
    """Return the scope of a method that a client calls, or None if the method is unknown."""
    if method in _OPENING:
        return "opening"
    if method in _LOADING:
        return "loading"
    if method in _CLOSING:
        return "closing"
    if method in _STORED:
        return "stored"
    if method in _OF_SESSIONS:
        return "session"
    return None if method.startswith("_") or method not in _LISTED else "connection"


def needs_header(method: str) -> bool:
    """Return whether the session must be named in a header as well as in the params.

    This holds for the methods with which every SDK sends the header. SDKs disagree on the others.
    """
    return method in _WITH_HEADER


_LISTED = frozenset(method.name for method in _TO_AGENT)
_WITH_HEADER = frozenset(
    f"session/{each}" for each in ("prompt", "cancel", "close", "set_mode", "set_config_option")
)
