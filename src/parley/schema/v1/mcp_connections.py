"""MCP over ACP as it was until the summer of 2026: with connections that are opened and closed.

Left the schema; peers that speak it are still served. What replaced it is in `mcp.py`.
Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any, TypeAlias

from parley.schema.base import JsonObject, Object, Strict

from .mcp import McpServerAcpId

__all__ = [
    "ConnectMcpRequest",
    "ConnectMcpResponse",
    "DisconnectMcpRequest",
    "DisconnectMcpResponse",
    "McpConnectionId",
    "MessageMcpConnectionNotification",
    "MessageMcpConnectionRequest",
    "MessageMcpConnectionResponse",
]

McpConnectionId: TypeAlias = str
"""Names an open connection to a server inside the client."""


class ConnectMcpRequest(Object):
    """Open a connection to a server inside the client."""

    server_id: McpServerAcpId


class ConnectMcpResponse(Object):
    """The connection is open."""

    connection_id: McpConnectionId
    """A new one every time, also for the same server."""


class DisconnectMcpRequest(Object):
    """Close a connection."""

    connection_id: McpConnectionId


class DisconnectMcpResponse(Object):
    """The connection is closed."""


class MessageMcpConnectionRequest(Object):
    """An MCP request, either way."""

    connection_id: McpConnectionId
    method: str
    """The method of MCP."""
    params: Strict[JsonObject | None] = None
    """The params of MCP; null and absence both mean none."""


class MessageMcpConnectionNotification(Object):
    """An MCP notification, either way."""

    connection_id: McpConnectionId
    method: str
    """The method of MCP."""
    params: JsonObject | None = None
    """The params of MCP; null and absence both mean none."""


MessageMcpConnectionResponse: TypeAlias = Any
"""The bare result of MCP; an error of MCP is the error of the ACP request."""
