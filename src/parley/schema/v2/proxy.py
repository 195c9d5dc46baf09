"""Unstable: components between client and agent, and the messages that pass through them.

Spec: https://agentclientprotocol.com/rfds/proxy-chains
"""

from __future__ import annotations

from typing import Any, TypeAlias

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

ProxySuccessorResponse: TypeAlias = Any
"""The result of the wrapped request, unchanged."""


class ProxySuccessorRequest(Object):
    """A request to or from the component's successor."""

    method: str
    """The wrapped method."""
    params: Strict[dict[str, Any] | list[Any] | None] = None
    """The wrapped params; None where there are none. Their own `_meta` is inside."""


class ProxySuccessorNotification(Object):
    """A notification to or from the component's successor."""

    method: str
    """The wrapped method."""
    params: Strict[dict[str, Any] | list[Any] | None] = None
    """The wrapped params; None where there are none. Their own `_meta` is inside."""
