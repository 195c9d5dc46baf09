"""Ids that several topics share; an id that one topic uses is in that topic's module.

Ids are opaque strings: compare and store them, but do not parse them.

Spec: https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import I64

__all__ = ["MessageId", "RequestId", "SessionId", "TerminalId", "ToolCallId"]

MessageId: TypeAlias = str
"""The id of a message, which all its chunks have."""

RequestId: TypeAlias = I64 | str | None
"""The id of a JSON-RPC request; the type is significant."""

SessionId: TypeAlias = str
"""The id of a session, assigned by the agent."""

TerminalId: TypeAlias = str
"""The id of a terminal, assigned by the client."""

ToolCallId: TypeAlias = str
"""The id of a tool call within its session."""
