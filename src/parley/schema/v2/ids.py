"""Ids, paths and numbers that several topics share; all of them are plain strings and integers.

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
"""A path that starts at a root of the agent's machine."""

MessageId: TypeAlias = str
"""Names one message of a session; the agent chooses it."""

ProtocolVersion: TypeAlias = U16
"""A version of the protocol; here 2."""

RequestId: TypeAlias = I64 | str
"""The id of a JSON-RPC request; null and fractions are refused."""

SessionId: TypeAlias = str
"""Names one conversation; the agent chooses it."""

TerminalId: TypeAlias = str
"""Names one terminal of a session; the agent chooses it."""

ToolCallId: TypeAlias = str
"""Names one tool call of a session; the agent chooses it."""
