"""Unstable: `auth/status`, which reports whether the user is authenticated.

Spec: https://agentclientprotocol.com/protocol/v2/draft/schema
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import EMPTY_LIST, Object

__all__ = [
    "AuthAccount",
    "AuthState",
    "AuthStatusCapabilities",
    "AuthStatusRequest",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
]

AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str
"""Unstable: whether the user is authenticated, as far as the agent knows."""


class AuthStatusCapabilities(Object):
    """Unstable: the agent reports whether the user is authenticated."""


class AuthAccount(Object):
    """Unstable: an account that the agent knows, for display."""

    label: str
    """The text to show if there is room for only one line."""
    active: bool | None = None
    """Whether the agent uses it; several accounts can be in use."""
    name: str | None = None
    email: str | None = None
    organization: str | None = None


class AuthStatusRequest(Object):
    """Unstable: ask whether the user is authenticated; this never requires authentication."""


class AuthStatusResponse(Object):
    """Unstable: the authentication status."""

    state: AuthState
    accounts: list[AuthAccount] = EMPTY_LIST


class AuthStatusUpdateNotification(Object):
    """Unstable: the new authentication status, sent when it changes."""

    state: AuthState
    accounts: list[AuthAccount] = EMPTY_LIST
