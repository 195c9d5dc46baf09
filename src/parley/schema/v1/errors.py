"""The JSON-RPC error object, where it is part of another message.

Error responses are exceptions in Parley: `parley.errors.RequestError`.

Spec: https://agentclientprotocol.com/protocol/v1/schema#error
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import I32, BaseStruct

__all__ = ["Error", "ErrorCode"]

ErrorCode: TypeAlias = Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002] | I32
"""The codes that the protocol names; any other number is allowed."""


class Error(BaseStruct):
    """An error."""

    code: ErrorCode
    message: str
    """A short description."""
    data: Any | UnsetType = UNSET
    """Additional information."""
