"""The first exchange of a connection: version, names, capabilities.

Spec: https://agentclientprotocol.com/protocol/v2/initialization
"""

from __future__ import annotations

from msgspec import field

from parley.schema.base import NO_ITEMS, Object

from .auth import AuthMethod
from .capabilities import AgentCapabilities, ClientCapabilities
from .ids import ProtocolVersion

__all__ = ["Implementation", "InitializeRequest", "InitializeResponse"]


class Implementation(Object):
    """Which program is speaking."""

    name: str
    title: str | None = None
    """A name for people."""
    version: str


class InitializeRequest(Object):
    """Open the connection."""

    protocol_version: ProtocolVersion
    """The newest version that the client speaks."""
    info: Implementation
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)


class InitializeResponse(Object):
    """Agree on a version and say what the agent can do."""

    protocol_version: ProtocolVersion
    """The version to speak; the agent's newest where it does not know the client's."""
    info: Implementation
    capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = NO_ITEMS
    """Ways to log in; with at least one, `auth/login` and `auth/logout` exist."""
