"""The first request of a connection: version, capabilities, names.

What the capabilities are made of is in `capabilities.py`, the ways to authenticate in `auth.py`.
Spec: https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import field

from parley.schema.base import U16, Object, Unstable

from .auth import AuthMethod
from .capabilities import AgentCapabilities, ClientCapabilities
from .nes_capabilities import GeneralCapabilities, PositionEncodingKind

__all__ = [
    "Implementation",
    "InitializeRequest",
    "InitializeResponse",
    "ProtocolVersion",
]

ProtocolVersion: TypeAlias = U16
"""The version of the protocol; only breaking changes raise it."""


class Implementation(Object):
    """The program on one side."""

    name: str
    """For programs, and for people where there is no title."""
    version: str
    title: str | None = None
    """For people."""


# The capabilities and `authMethods` have a factory of their own and not `list` or a value, so that
# they are written even when they are empty: older peers ask for the keys.


class InitializeRequest(Object):
    """What the client speaks and can do."""

    protocol_version: ProtocolVersion
    """The newest that the client speaks."""
    client_capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    client_info: Implementation | None = None
    general: Unstable[GeneralCapabilities | None] = None
    """Where older clients listed their position encodings. Read, never written."""


class InitializeResponse(Object):
    """What the agent speaks and can do."""

    protocol_version: ProtocolVersion
    """The client's version, or the newest that the agent speaks."""
    agent_capabilities: AgentCapabilities = field(default_factory=AgentCapabilities)
    auth_methods: list[AuthMethod] = field(default_factory=list[AuthMethod])
    agent_info: Implementation | None = None
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """Where older agents named the position encoding; written for clients with `general`."""
