"""MCP servers that a client configures for a session, and MCP messages over ACP: `mcp/message`.

Servers of the type `acp` and the messages are unstable. The earlier form of MCP over ACP, with
connections, is in `mcp_connections.py`.

Spec: https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers and
https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from parley.schema.base import I32, BaseStruct, JsonObject, NullDefault, Object, Strict, Untagged

from .terminal import EnvVariable

__all__ = [
    "HttpHeader",
    "McpError",
    "McpRequestId",
    "McpServer",
    "McpServerAcp",
    "McpServerAcpId",
    "McpServerHttp",
    "McpServerSse",
    "McpServerStdio",
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


class HttpHeader(Object):
    """A header to send with every request."""

    name: str
    value: str


class McpServerHttp(Object, tag_field="type", tag="http"):
    """A server over HTTP; only for agents that offer `mcpCapabilities.http`."""

    name: str
    url: str
    headers: NullDefault[list[HttpHeader]]


class McpServerSse(Object, tag_field="type", tag="sse"):
    """A server over server-sent events; only for agents that offer `mcpCapabilities.sse`."""

    name: str
    url: str
    headers: NullDefault[list[HttpHeader]]


class McpServerAcp(Object, tag_field="type", tag="acp"):
    """Unstable: a server inside the client; only for agents that offer `mcpCapabilities.acp`."""

    name: str
    server_id: McpServerAcpId


class McpServerStdio(Object):
    """A server that the agent starts as a process; every agent supports it. It has no `type`."""

    name: str
    command: str
    """An absolute path."""
    args: NullDefault[list[str]]
    env: NullDefault[list[EnvVariable]]


McpServer: TypeAlias = Untagged[McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio]
"""An MCP server for the agent to connect to."""


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
