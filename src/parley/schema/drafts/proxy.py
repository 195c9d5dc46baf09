"""Unstable: `proxy/successor`, between a conductor and its proxies.

`proxy/initialize` has the types of `initialize`. The proxies and the conductor themselves are in
`parley.proxy`.

Spec: https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Raw, UnsetType

from parley.schema.base import Object, Strict

__all__ = [
    "ProxySuccessorNotification",
    "ProxySuccessorRequest",
    "ProxySuccessorResponse",
]

ProxySuccessorResponse: TypeAlias = Raw
"""Unstable: the result of the wrapped request, as the original bytes."""


class ProxySuccessorRequest(Object):
    """Unstable: a request to or from the proxy's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the original bytes. Their own `_meta` is inside."""


class ProxySuccessorNotification(Object):
    """Unstable: a notification to or from the proxy's successor."""

    method: str
    """The wrapped method."""
    params: Strict[Raw | UnsetType] = UNSET
    """The wrapped params, as the original bytes. Their own `_meta` is inside."""
