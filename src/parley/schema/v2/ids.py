"""Ids, paths and numbers of version 2 that several topics share.

All of them are plain strings and integers at run time. Opaque ids that both versions have are in
`parley.schema.ids`; an id that one topic uses is in that topic's module.

Spec: https://agentclientprotocol.com/protocol/v2/overview
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import I64, U16
from parley.schema.ids import MessageId, SessionId, TerminalId, ToolCallId

__all__ = [
    "AbsolutePath",
    "MessageId",
    "ProtocolVersion",
    "RequestId",
    "SessionId",
    "TerminalId",
    "ToolCallId",
]

AbsolutePath: TypeAlias = str
"""An absolute path on the agent's machine."""

ProtocolVersion: TypeAlias = U16
"""A version of the protocol; here 2."""

RequestId: TypeAlias = I64 | str
"""The id of a JSON-RPC request; null and fractions are refused."""
