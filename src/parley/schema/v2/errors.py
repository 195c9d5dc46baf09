"""The JSON-RPC error object, where it is part of another message, and the `data` of known codes.

Error responses are exceptions in Parley: `parley.errors.RequestError`.

Spec: https://agentclientprotocol.com/protocol/v2/error
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from parley.schema.base import I32, BaseStruct, Object

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
"""The error code; `parley.errors` has a class for each known one."""

ErrorData: TypeAlias = Any
"""Any JSON value; -32022 and, for an unknown session, -32002 have the shapes below."""


class UnsupportedProtocolVersionErrorData(Object):
    """The data of error -32022: the supported versions."""

    requested: ProtocolVersion
    supported: list[ProtocolVersion]


class SessionNotFoundErrorData(Object):
    """The data of error -32002 for an unknown session."""

    session_id: SessionId


class Error(BaseStruct):
    """A JSON-RPC error object."""

    code: ErrorCode
    message: str
    data: ErrorData = None
