"""Ids, paths and numbers that several topics share; others are in their topic's module.

All of them are plain strings and integers at run time. Ids are opaque: do not parse them.

Spec: https://agentclientprotocol.com/protocol/v2/overview
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import I64, U16

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

MessageId: TypeAlias = str
"""The id of a message within its session, assigned by the agent."""

ProtocolVersion: TypeAlias = U16
"""A version of the protocol; here 2."""

RequestId: TypeAlias = I64 | str
"""The id of a JSON-RPC request; null and fractions are refused."""

SessionId: TypeAlias = str
"""The id of a session, assigned by the agent."""

TerminalId: TypeAlias = str
"""The id of a terminal within its session, assigned by the agent."""

ToolCallId: TypeAlias = str
"""The id of a tool call within its session, assigned by the agent."""
