"""The error object as data, where a message carries one inside, and what known codes add to it.

The exceptions are in `parley.errors`.

Spec: https://agentclientprotocol.com/protocol/v2/error
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from parley.schema.base import I32, Bare, Object

from .ids import ProtocolVersion, SessionId

__all__ = [
    "Error",
    "ErrorCode",
    "ErrorData",
    "SessionNotFoundErrorData",
    "UnsupportedProtocolVersionErrorData",
]

ErrorCode: TypeAlias = (
    Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002, -32022] | I32
)
"""What went wrong; `parley.errors` has a class for each known code."""

ErrorData: TypeAlias = Any
"""Any JSON value; -32022 and, for an unknown session, -32002 have the shapes below."""


class UnsupportedProtocolVersionErrorData(Object):
    """What comes with -32022: the versions that would do."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]


class SessionNotFoundErrorData(Object):
    """What comes with -32002 where a session is not known."""

    session_id: SessionId


class Error(Bare):
    """A JSON-RPC error object."""

    code: ErrorCode
    message: str
    data: ErrorData = None
