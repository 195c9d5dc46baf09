"""MCP servers that a client asks the agent to use, and MCP messages carried over ACP.

Over ACP, a server lives on the client's side: each request of the agent is one `mcp/message` that
names the server and itself, and the MCP outcome, good or bad, is the answer's result. The older
form with connections is in `mcp_connections.py`.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup#mcp-servers
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from parley.schema.base import (
    I32,
    NO_ITEMS,
    Bare,
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
"""Names one MCP request; notifications that belong to it carry the same."""

McpServerAcpId: TypeAlias = str
"""Names an MCP server on the client's side."""


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
    args: NullDefault[list[str]] = NO_ITEMS
    env: NullDefault[list[EnvVariable]] = NO_ITEMS


class McpServerHttp(Object, tag_field="type", tag="http"):
    """A server behind a URL."""

    name: str
    url: str
    headers: NullDefault[list[HttpHeader]] = NO_ITEMS


class McpServerAcp(Object, tag_field="type", tag="acp"):
    """Unstable: a server on the client's side, reached with `mcp/message`."""

    name: str
    server_id: McpServerAcpId


McpServer: TypeAlias = Open[McpServerHttp | McpServerAcp | McpServerStdio]
"""How the agent reaches an MCP server."""


class MessageMcpRequest(Object):
    """Unstable: one request of the agent's to an MCP server on the client's side."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; None where it has none."""


class MessageMcpNotification(Object):
    """Unstable: what an MCP server reports while one of its requests runs."""

    server_id: McpServerAcpId
    request_id: McpRequestId
    """The request that it belongs to."""
    method: str
    """The MCP method."""
    params: Strict[JsonObject | None] = None
    """The MCP params; None where it has none."""


class McpError(Bare):
    """Unstable: what an MCP error has at least."""

    code: I32
    message: str
    data: Strict[Any | UnsetType] = UNSET
    """Null is a value here."""


class MessageMcpSuccess(Object):
    """Unstable: the MCP request succeeded."""

    result: Any
    """What the server answered, null included."""


class MessageMcpFailure(Object):
    """Unstable: the MCP request failed; the ACP request did not."""

    error: JsonObject
    """An `McpError` with all the fields it came with."""

    def __post_init__(self) -> None:
        """Refuse an error without a code or a message."""
        try:
            msgspec.convert(self.error, McpError)
        except msgspec.ValidationError:
            raise ValueError("expected an MCP error with code and message") from None


MessageMcpResponse: TypeAlias = Untagged[MessageMcpSuccess | MessageMcpFailure]
"""How an MCP request ended; where both are there, the result counts."""
