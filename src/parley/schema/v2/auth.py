"""Logging in and out, and the state of it.

Spec: https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import NO_ITEMS, NullDefault, Object, Open

from .mcp import EnvVariable

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
    "LoginAuthRequest",
    "LoginAuthResponse",
    "LogoutAuthRequest",
    "LogoutAuthResponse",
]

AuthMethodId: TypeAlias = str
"""Names a way to log in."""

AuthState: TypeAlias = Literal["authenticated", "unauthenticated", "not_required", "unknown"] | str
"""Unstable: whether the agent can work with the credentials it has."""


class AuthMethodAgent(Object, tag_field="type", tag="agent"):
    """A login that the agent carries out itself after `auth/login`."""

    method_id: AuthMethodId
    name: str
    description: str | None = None


class AuthMethodTerminal(Object, tag_field="type", tag="terminal"):
    """A login in a terminal: the client runs the agent's command for it; never for `auth/login`."""

    method_id: AuthMethodId
    name: str
    description: str | None = None
    args: NullDefault[list[str]] = NO_ITEMS
    """Arguments to add to the usual ones."""
    env: NullDefault[list[EnvVariable]] = NO_ITEMS
    """Variables to set besides the usual ones; they override those of the same name."""


AuthMethod: TypeAlias = Open[AuthMethodTerminal | AuthMethodAgent]
"""A way to log in. One of an unknown type is kept even without id or name."""


class LoginAuthRequest(Object):
    """Log in with a method that the agent offered and whose type has a login of this kind."""

    method_id: AuthMethodId


class LoginAuthResponse(Object):
    """The login succeeded."""


class LogoutAuthRequest(Object):
    """Forget the login."""


class LogoutAuthResponse(Object):
    """The login is forgotten."""


class AuthAccount(Object):
    """Unstable: an account that the agent knows; to be shown, not to be logged or compared."""

    label: str
    active: bool | None = None
    """Whether it is in use; None where that is not said."""
    name: str | None = None
    email: str | None = None
    organization: str | None = None


class AuthStatusRequest(Object):
    """Unstable: ask whether the agent is logged in; changes nothing."""


class AuthStatusResponse(Object):
    """Unstable: whether the agent is logged in, and as whom."""

    state: AuthState
    accounts: list[AuthAccount] = NO_ITEMS


class AuthStatusUpdateNotification(Object):
    """Unstable: the state of the login has changed."""

    state: AuthState
    accounts: list[AuthAccount] = NO_ITEMS
