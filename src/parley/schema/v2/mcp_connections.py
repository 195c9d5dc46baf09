"""The older form of MCP over ACP: connect to a server of the client's, talk, disconnect.

It left the schema in autumn 2026; peers of that time still speak it. The present form, without
connections, is in `mcp.py`. `mcp/message` went both ways, as request and as notification, and its
result was the MCP result itself.

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
"""Names one open connection; the client chooses it."""


class ConnectMcpRequest(Object):
    """Open a connection to a server that the client declared."""

    server_id: McpServerAcpId


class ConnectMcpResponse(Object):
    """The connection is open."""

    connection_id: McpConnectionId


class MessageMcpConnectionRequest(Object):
    """One MCP request over a connection."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; None where it has none."""


class MessageMcpConnectionNotification(Object):
    """One MCP notification over a connection."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: JsonObject | None = None
    """The MCP params; None where it has none."""


MessageMcpConnectionResponse: TypeAlias = Any
"""The MCP result itself; an MCP error is the error of the request."""


class DisconnectMcpRequest(Object):
    """Close a connection."""

    connection_id: McpConnectionId


class DisconnectMcpResponse(Object):
    """The connection is closed."""
