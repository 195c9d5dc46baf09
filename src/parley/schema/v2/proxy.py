"""Unstable: `proxy/initialize` and `proxy/successor`, between a conductor and its proxies.

The earlier names of these methods, which start with an underscore, are in `extra_methods.py`. The
proxies and the conductor themselves are in `parley.proxy`.

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
"""Sent by a conductor instead of `initialize` to a proxy, which has a successor."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""The response to `proxy/initialize`."""

ProxySuccessorResponse: TypeAlias = Raw
"""The result of the wrapped request, as the original bytes."""


class ProxySuccessorRequest(Object):
    """A request to or from the proxy's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the original bytes. Their own `_meta` is inside."""


class ProxySuccessorNotification(Object):
    """A notification to or from the proxy's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the original bytes. Their own `_meta` is inside."""
