"""`initialize`, the first request of a connection: protocol version, names and capabilities.

The capabilities are in `capabilities.py`, authentication methods in `auth.py`. The negotiation of
the version is in `parley.peer`.

Spec: https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import field

from parley.schema.base import U16, Object, Unstable
from parley.schema.drafts.nes import PositionEncodingKind

from .auth import AuthMethod
from .capabilities import AgentCapabilities, ClientCapabilities, GeneralCapabilities

__all__ = [
    "Implementation",
    "InitializeProxyRequest",
    "InitializeProxyResponse",
    "InitializeRequest",
    "InitializeResponse",
    "ProtocolVersion",
]

ProtocolVersion: TypeAlias = U16
"""The version of the protocol; only breaking changes raise it."""


class Implementation(Object):
    """The name and version of a client or an agent."""

    name: str
    """The name for programs, shown to people if there is no title."""
    version: str
    title: str | None = None
    """The name for display."""


# The capabilities and `authMethods` have a factory of their own and not `list` or a value, so that
# they are written even when they are empty: older peers ask for the keys.


class InitializeRequest(Object):
    """The client's protocol version and capabilities."""

    protocol_version: ProtocolVersion
    """The newest version that the client supports."""
    client_capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    client_info: Implementation | None = None
    general: Unstable[GeneralCapabilities | None] = None
    """The position encodings of older clients; read, but never written."""


class InitializeResponse(Object):
    """The negotiated protocol version, and the agent's capabilities."""

    protocol_version: ProtocolVersion
    """The client's version if the agent supports it, else the newest that it supports."""
    agent_capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = field(default_factory=list[AuthMethod])
    agent_info: Implementation | None = None
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """The position encoding of older agents; sent to clients that have `general`."""


InitializeProxyRequest: TypeAlias = InitializeRequest
"""Unstable: sent by a conductor instead of `initialize` to a proxy, which has a successor."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""Unstable: the response to `proxy/initialize`."""
