"""Ids that both versions of the protocol have, and all of whose values are opaque strings.

Compare and store them, but do not parse them. Ids that only one version or one topic has are in its
module.

Spec: https://agentclientprotocol.com/protocol/v2/overview
"""

from __future__ import annotations

from typing import TypeAlias

__all__ = ["MessageId", "SessionId", "TerminalId", "ToolCallId"]

MessageId: TypeAlias = str
"""The id of a message within its session, which all its chunks have; assigned by the agent."""

SessionId: TypeAlias = str
"""The id of a session, assigned by the agent."""

TerminalId: TypeAlias = str
"""The id of a terminal; in version 1 the client assigns it, in version 2 the agent."""

ToolCallId: TypeAlias = str
"""The id of a tool call within its session, assigned by the agent."""
