"""The earlier form of MCP over ACP: `mcp/connect`, `mcp/message` and `mcp/disconnect`.

It was removed from the schema in 2026, but Parley still supports peers that use it. Messages go in
both directions, and the result is the bare MCP result. The current form is in `mcp.py`.

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
"""The id of an open connection to a server in the client."""


class ConnectMcpRequest(Object):
    """Open a connection to a server inside the client."""

    server_id: McpServerAcpId


class ConnectMcpResponse(Object):
    """The connection is open."""

    connection_id: McpConnectionId
    """A new id for every connection, even to the same server."""


class DisconnectMcpRequest(Object):
    """Close a connection."""

    connection_id: McpConnectionId


class DisconnectMcpResponse(Object):
    """The connection is closed."""


class MessageMcpConnectionRequest(Object):
    """An MCP request, either way."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; null and absent both mean none."""


class MessageMcpConnectionNotification(Object):
    """An MCP notification, either way."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: JsonObject | None = None
    """The MCP params; null and absent both mean none."""


MessageMcpConnectionResponse: TypeAlias = Any
"""The bare MCP result; an MCP error becomes the error of the ACP request."""
