"""MCP servers: how a client tells an agent of them, and MCP messages that travel over ACP.

The messages and servers of type `acp` are unstable. The form before them, with connections, is in
`mcp_connections.py`. Spec: https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
and https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from parley.schema.base import I32, Bare, JsonObject, NullDefault, Object, Strict, Untagged

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
"""Unstable: names an MCP request that is under way."""

McpServerAcpId: TypeAlias = str
"""Unstable: names an MCP server that the client itself provides, once per connection."""


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
    """A server that the agent starts as a process; every agent can. It has no `type`."""

    name: str
    command: str
    """Absolute."""
    args: NullDefault[list[str]]
    env: NullDefault[list[EnvVariable]]


McpServer: TypeAlias = Untagged[McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio]
"""A server that the agent shall connect to."""


class MessageMcpRequest(Object):
    """Unstable: an MCP request to a server inside the client."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    """What notifications about this request will be told by."""
    method: str
    """The method of MCP."""
    params: Strict[JsonObject | None] = None
    """The params of MCP; null and absence both mean none."""


class MessageMcpNotification(Object):
    """Unstable: an MCP notification about a request to a server inside the client."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    """The method of MCP."""
    params: Strict[JsonObject | None] = None
    """The params of MCP; null and absence both mean none."""


class McpError(Bare):
    """Unstable: what an error of MCP has at least."""

    code: I32
    message: str
    data: Strict[Any | UnsetType] = UNSET
    """Null is a value here."""


class MessageMcpSuccess(Object):
    """Unstable: the MCP request worked."""

    result: Any
    """What the server answered, null included."""


class MessageMcpFailure(Object):
    """Unstable: the MCP server refused the request; the ACP request around it worked."""

    error: JsonObject
    """An `McpError` with everything that came with it."""

    def __post_init__(self) -> None:
        """Refuse an error without a code or a message."""
        try:
            msgspec.convert(self.error, McpError)
        except msgspec.ValidationError:
            raise ValueError("expected an MCP error with code and message") from None


MessageMcpResponse: TypeAlias = Untagged[MessageMcpSuccess | MessageMcpFailure]
"""Unstable: what came of an MCP request; with both keys there, `result` counts."""
