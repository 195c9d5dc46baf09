"""Unstable: components between client and agent, and the messages that pass through them.

Spec: https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Raw, UnsetType

from parley.schema.base import Object, Strict

from .initialize import InitializeRequest, InitializeResponse

__all__ = [
    "InitializeProxyRequest",
    "InitializeProxyResponse",
    "ProxySuccessorNotification",
    "ProxySuccessorRequest",
    "ProxySuccessorResponse",
]

InitializeProxyRequest: TypeAlias = InitializeRequest
"""What a conductor sends to a component with a successor, in place of `initialize`."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""The answer to that."""

ProxySuccessorResponse: TypeAlias = Raw
"""The result of the wrapped request, as the bytes it came as."""


class ProxySuccessorRequest(Object):
    """A request to or from the component's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the bytes they came as. Their own `_meta` is inside."""


class ProxySuccessorNotification(Object):
    """A notification to or from the component's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the bytes they came as. Their own `_meta` is inside."""
