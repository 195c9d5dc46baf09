"""MCP servers that a client configures for a session.

Servers inside the client, of the type `acp`, are unstable; they and the messages to them are in
`parley.schema.drafts.mcp`.

Spec: https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import NullDefault, Object, Untagged
from parley.schema.drafts.mcp import McpServerAcp

from .terminal import EnvVariable

__all__ = [
    "HttpHeader",
    "McpServer",
    "McpServerHttp",
    "McpServerSse",
    "McpServerStdio",
]


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


class McpServerStdio(Object):
    """A server that the agent starts as a process; every agent supports it. It has no `type`."""

    name: str
    command: str
    """An absolute path."""
    args: NullDefault[list[str]]
    env: NullDefault[list[EnvVariable]]


McpServer: TypeAlias = Untagged[McpServerHttp | McpServerSse | McpServerAcp | McpServerStdio]
"""An MCP server for the agent to connect to."""
