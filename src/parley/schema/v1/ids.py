"""The ids of version 1; opaque ids that both versions have are in `parley.schema.ids`.

Spec: https://agentclientprotocol.com/protocol/v1/schema
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import I64
from parley.schema.ids import MessageId, SessionId, TerminalId, ToolCallId

__all__ = ["MessageId", "RequestId", "SessionId", "TerminalId", "ToolCallId"]

RequestId: TypeAlias = I64 | str | None
"""The id of a JSON-RPC request; the type is significant."""
