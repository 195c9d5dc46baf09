"""MCP over ACP: the `mcp/*` methods, for MCP servers inside the client.

The current form has one method, `mcp/message`, which names the server. It is unstable. The earlier
form, with connections, was removed from the schema in 2026, but Parley still supports peers that
use it: messages go in both directions, and the result is the bare MCP result.

Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from parley.schema.base import I32, BaseStruct, JsonObject, Object, Strict, Untagged

__all__ = [
    "ConnectMcpRequest",
    "ConnectMcpResponse",
    "DisconnectMcpRequest",
    "DisconnectMcpResponse",
    "McpConnectionId",
    "McpError",
    "McpRequestId",
    "McpServerAcp",
    "McpServerAcpId",
    "MessageMcpConnectionNotification",
    "MessageMcpConnectionRequest",
    "MessageMcpConnectionResponse",
    "MessageMcpFailure",
    "MessageMcpNotification",
    "MessageMcpRequest",
    "MessageMcpResponse",
    "MessageMcpSuccess",
]

McpRequestId: TypeAlias = str
"""Unstable: the id of a pending MCP request."""

McpServerAcpId: TypeAlias = str
"""Unstable: the id of an MCP server in the client, unique per connection."""


class McpServerAcp(Object, tag_field="type", tag="acp"):
    """Unstable: a server inside the client; only for agents that offer MCP over ACP."""

    name: str
    server_id: McpServerAcpId


class MessageMcpRequest(Object):
    """Unstable: an MCP request to a server inside the client."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    """The id that notifications about this request refer to."""
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; null and absent both mean none."""


class MessageMcpNotification(Object):
    """Unstable: an MCP notification about a request to a server inside the client."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; null and absent both mean none."""


class McpError(BaseStruct):
    """Unstable: the required fields of an MCP error."""

    code: I32
    message: str
    data: Strict[Any | UnsetType] = UNSET
    """Any JSON value, including null."""


class MessageMcpSuccess(Object):
    """Unstable: the MCP request succeeded."""

    result: Any
    """The MCP result, which may be null."""


class MessageMcpFailure(Object):
    """Unstable: the MCP request failed; the ACP request that carried it succeeded."""

    error: JsonObject
    """An `McpError` with all the fields that it arrived with."""

    def __post_init__(self) -> None:
        """Refuse an error without a code or a message."""
        try:
            msgspec.convert(self.error, McpError)
        except msgspec.ValidationError:
            raise ValueError("expected an MCP error with code and message") from None


MessageMcpResponse: TypeAlias = Untagged[MessageMcpSuccess | MessageMcpFailure]
"""Unstable: the outcome of an MCP request; if both keys are present, `result` takes precedence."""

McpConnectionId: TypeAlias = str
"""Former: the id of an open connection to a server in the client."""


class ConnectMcpRequest(Object):
    """Former: open a connection to a server inside the client."""

    server_id: McpServerAcpId


class ConnectMcpResponse(Object):
    """Former: the connection is open."""

    connection_id: McpConnectionId
    """A new id for every connection, even to the same server."""


class DisconnectMcpRequest(Object):
    """Former: close a connection."""

    connection_id: McpConnectionId


class DisconnectMcpResponse(Object):
    """Former: the connection is closed."""


class MessageMcpConnectionRequest(Object):
    """Former: an MCP request, either way."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; null and absent both mean none."""


class MessageMcpConnectionNotification(Object):
    """Former: an MCP notification, either way."""

    connection_id: McpConnectionId
    method: str
    """The MCP method."""
    params: JsonObject | None = None
    """The MCP params; null and absent both mean none."""


MessageMcpConnectionResponse: TypeAlias = Any
"""Former: the bare MCP result; an MCP error becomes the error of the ACP request."""
