"""MCP servers that a client configures for a session.

Servers inside the client, of the type `acp`, are unstable; they and the messages to them are in
`parley.schema.drafts.mcp`.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup#mcp-servers
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import (
    EMPTY_LIST,
    NullDefault,
    Object,
    Open,
)
from parley.schema.drafts.mcp import McpServerAcp

from .ids import AbsolutePath

__all__ = [
    "EnvVariable",
    "HttpHeader",
    "McpServer",
    "McpServerHttp",
    "McpServerStdio",
]


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


McpServer: TypeAlias = Open[McpServerHttp | McpServerAcp | McpServerStdio]
"""An MCP server for the agent to connect to."""
