"""Authentication: the ways that an agent offers, and going one of them.

Asking for the state of it is unstable.
Spec: https://agentclientprotocol.com/protocol/v1/authentication
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import NO_ENTRIES, NO_ITEMS, NullDefault, Object, Untagged

__all__ = [
    "AuthAccount",
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodId",
    "AuthMethodTerminal",
    "AuthState",
    "AuthStatusRequest",
    "AuthStatusResponse",
    "AuthStatusUpdateNotification",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "LogoutRequest",
    "LogoutResponse",
]

AuthMethodId: TypeAlias = str
"""Names a way to authenticate."""


class _AuthMethod(Object):
    """What all ways have."""

    id: AuthMethodId
    name: str
    description: str | None = None


class AuthMethodTerminal(_AuthMethod, tag_field="type", tag="terminal"):
    """The client runs the agent's own program in a terminal, and the user logs in there.

    Only for clients that offer `auth.terminal`. Never given to `authenticate`.
    """

    args: NullDefault[list[str]] = NO_ITEMS
    """What to add to the command line that starts the agent."""
    env: NullDefault[dict[str, str]] = NO_ENTRIES
    """What to add to the environment."""


class AuthMethodAgent(_AuthMethod):
    """The agent does it all when `authenticate` is called."""


AuthMethod: TypeAlias = Untagged[AuthMethodTerminal | AuthMethodAgent]
"""A way to authenticate. One of a `type` not known here reads as the agent's own."""


class AuthenticateRequest(Object):
    """Authenticate in this way."""

    method_id: AuthMethodId


class AuthenticateResponse(Object):
    """The user is authenticated."""


class LogoutRequest(Object):
    """Forget who the user is."""


class LogoutResponse(Object):
    """The user is no longer authenticated."""


AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str
"""Unstable: whether the user is authenticated, as far as the agent can tell."""


class AuthAccount(Object):
    """Unstable: an account that the agent knows, to be shown."""

    label: str
    """The one line to show if there is room for one."""
    active: bool | None = None
    """Whether the agent uses it; several can be in use."""
    name: str | None = None
    email: str | None = None
    organization: str | None = None


class AuthStatusRequest(Object):
    """Unstable: is the user authenticated? Asking never needs authentication."""


class AuthStatusResponse(Object):
    """Unstable: how things stand."""

    state: AuthState
    accounts: list[AuthAccount] = NO_ITEMS


class AuthStatusUpdateNotification(Object):
    """Unstable: how things stand now, sent when they change."""

    state: AuthState
    accounts: list[AuthAccount] = NO_ITEMS
