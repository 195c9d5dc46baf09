"""`initialize`, the first request of a connection: protocol version, names and capabilities.

The capabilities are in `capabilities.py`, authentication methods in `auth.py`. The negotiation of
the version is in `parley.peer`.

Spec: https://agentclientprotocol.com/protocol/v2/initialization
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import field

from parley.schema.base import EMPTY_LIST, Formerly, Object

from .auth import AuthMethod
from .capabilities import AgentCapabilities, ClientCapabilities
from .ids import ProtocolVersion

__all__ = [
    "Implementation",
    "InitializeProxyRequest",
    "InitializeProxyResponse",
    "InitializeRequest",
    "InitializeResponse",
]


class Implementation(Object):
    """The name and version of a client or an agent."""

    name: str
    title: str | None = None
    """The name for display."""
    version: str


_NAMELESS = b'{"name":"unknown","version":"unknown"}'


class InitializeRequest(Object):
    """Initialize a connection."""

    protocol_version: ProtocolVersion
    """The newest version that the client supports."""
    info: Annotated[Implementation, Formerly("clientInfo", absent=_NAMELESS)]
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)


class InitializeResponse(Object):
    """The negotiated version, and the agent's capabilities."""

    protocol_version: ProtocolVersion
    """The version to use: the client's, or the agent's newest if it does not support that one."""
    info: Annotated[Implementation, Formerly("agentInfo", absent=_NAMELESS)]
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = EMPTY_LIST
    """The authentication methods; `auth/login` and `auth/logout` exist only if there are any."""


InitializeProxyRequest: TypeAlias = InitializeRequest
"""Unstable: sent by a conductor instead of `initialize` to a proxy, which has a successor."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""Unstable: the response to `proxy/initialize`."""
