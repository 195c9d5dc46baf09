"""Proxies: programs between a client and an agent, and how a conductor speaks to them. Unstable.

The method names that began with an underscore are in `former_methods.py`.
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
"""The same as for `initialize`; the method alone tells a proxy that it has a successor."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""The same as for `initialize`."""


class ProxySuccessorRequest(Object):
    """A request to the successor of a proxy, or from it."""

    method: str
    """The method of the request inside."""
    params: Strict[Raw | UnsetType] = UNSET
    """The params of the request inside, as the bytes they came as."""


class ProxySuccessorNotification(Object):
    """A notification to the successor of a proxy, or from it."""

    method: str
    """The method of the notification inside."""
    params: Strict[Raw | UnsetType] = UNSET
    """The params of the notification inside, as the bytes they came as."""


ProxySuccessorResponse: TypeAlias = Raw
"""The result of the request inside, as the bytes it came as."""
