"""The error object of JSON-RPC, as data inside other values.

Errors that answer a request are raised and caught as `parley.errors.RequestError`.
Spec: https://agentclientprotocol.com/protocol/v1/schema#error
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import I32, Bare

__all__ = ["Error", "ErrorCode"]

ErrorCode: TypeAlias = Literal[-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002] | I32
"""The codes that the protocol names; any other number is allowed."""


class Error(Bare):
    """Why something failed."""

    code: ErrorCode
    message: str
    """One short sentence."""
    data: Any | UnsetType = UNSET
    """Whatever else is worth knowing."""
