"""The ids that more than one topic uses; ids of one topic stand in its own file.

An id is an opaque text: compare it, keep it, never take it apart.
Spec: https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import I64

__all__ = ["MessageId", "RequestId", "SessionId", "TerminalId", "ToolCallId"]

MessageId: TypeAlias = str
"""Names a message; all its chunks carry the same one."""

RequestId: TypeAlias = I64 | str | None
"""Names a JSON-RPC request; value and type both count."""

SessionId: TypeAlias = str
"""Names a conversation; the agent gives it out."""

TerminalId: TypeAlias = str
"""Names a terminal; the client gives it out."""

ToolCallId: TypeAlias = str
"""Names a tool call within its session."""
