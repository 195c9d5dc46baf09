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
"""The same as for `initialize`; the method name alone tells a proxy that it has a successor."""

InitializeProxyResponse: TypeAlias = InitializeResponse
"""The same as for `initialize`."""


class ProxySuccessorRequest(Object):
    """A request to or from the successor of a proxy."""

    method: str
    """The method of the wrapped request."""
    params: Strict[Raw | UnsetType] = UNSET
    """The params of the wrapped request, as the original bytes."""


class ProxySuccessorNotification(Object):
    """A notification to or from the successor of a proxy."""

    method: str
    """The method of the wrapped notification."""
    params: Strict[Raw | UnsetType] = UNSET
    """The params of the wrapped notification, as the original bytes."""


ProxySuccessorResponse: TypeAlias = Raw
"""The result of the wrapped request, as the original bytes."""
