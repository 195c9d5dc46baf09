"""MCP servers that a client configures for a session, and MCP messages over ACP: `mcp/message`.

A server of the type `acp` lives in the client. Each `mcp/message` request of the agent names the
server and carries one MCP request; its result holds the MCP result or the MCP error. This is
unstable. The earlier form, with connections, is in `mcp_connections.py`.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup#mcp-servers and
https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from parley.schema.base import (
    EMPTY_LIST,
    I32,
    BaseStruct,
    JsonObject,
    NullDefault,
    Object,
    Open,
    Strict,
    Untagged,
)

from .ids import AbsolutePath

__all__ = [
    "EnvVariable",
    "HttpHeader",
    "McpError",
    "McpRequestId",
    "McpServer",
    "McpServerAcp",
    "McpServerAcpId",
    "McpServerHttp",
    "McpServerStdio",
    "MessageMcpFailure",
    "MessageMcpNotification",
    "MessageMcpRequest",
    "MessageMcpResponse",
    "MessageMcpSuccess",
]

McpRequestId: TypeAlias = str
"""The id of an MCP request, which its notifications have as well."""

McpServerAcpId: TypeAlias = str
"""The id of an MCP server in the client."""


class EnvVariable(Object):
    """A variable to set in a process's environment."""

    name: str
    value: str


class HttpHeader(Object):
    """A header to send with every HTTP request."""

    name: str
    value: str


class McpServerStdio(Object, tag_field="type", tag="stdio"):
    """A server that the agent starts as a process."""

    name: str
    command: AbsolutePath
    args: NullDefault[list[str]] = EMPTY_LIST
    env: NullDefault[list[EnvVariable]] = EMPTY_LIST


class McpServerHttp(Object, tag_field="type", tag="http"):
    """A server over HTTP."""

    name: str
    url: str
    headers: NullDefault[list[HttpHeader]] = EMPTY_LIST


class McpServerAcp(Object, tag_field="type", tag="acp"):
    """Unstable: a server in the client, used with `mcp/message`."""

    name: str
    server_id: McpServerAcpId


McpServer: TypeAlias = Open[McpServerHttp | McpServerAcp | McpServerStdio]
"""An MCP server for the agent to connect to."""


class MessageMcpRequest(Object):
    """Unstable: an MCP request to a server in the client."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; None if it has none."""


class MessageMcpNotification(Object):
    """Unstable: an MCP notification about a pending request."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    """The MCP request that it belongs to."""
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; None if it has none."""


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
    """Unstable: the MCP request failed; the ACP request did not."""

    error: JsonObject
    """An `McpError` with all the fields that it arrived with."""

    def __post_init__(self) -> None:
        """Refuse an error without a code or a message."""
        try:
            msgspec.convert(self.error, McpError)
        except msgspec.ValidationError:
            raise ValueError("expected an MCP error with code and message") from None


MessageMcpResponse: TypeAlias = Untagged[MessageMcpSuccess | MessageMcpFailure]
"""The outcome of an MCP request; if both keys are present, `result` takes precedence."""
