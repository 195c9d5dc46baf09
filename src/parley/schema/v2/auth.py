"""Authentication: the methods that an agent offers, `auth/login`, `auth/logout`, `auth/status`.

An agent lists its authentication methods in the response to `initialize`. The status methods are
unstable. Capabilities are in `capabilities.py`.

Spec: https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import EMPTY_LIST, NullDefault, Object, Open

from .mcp import EnvVariable

__all__ = [
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodId",
    "AuthMethodTerminal",
    "LoginAuthRequest",
    "LoginAuthResponse",
    "LogoutAuthRequest",
    "LogoutAuthResponse",
]

AuthMethodId: TypeAlias = str
"""The id of an authentication method."""


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
    args: NullDefault[list[str]] = EMPTY_LIST
    """Arguments to add to the usual ones."""
    env: NullDefault[list[EnvVariable]] = EMPTY_LIST
    """Variables to set besides the usual ones; they override those of the same name."""


AuthMethod: TypeAlias = Open[AuthMethodTerminal | AuthMethodAgent]
"""An authentication method; one of an unknown type is kept even without id or name."""


class LoginAuthRequest(Object):
    """Log in with one of the agent's methods, whose type must support `auth/login`."""

    method_id: AuthMethodId


class LoginAuthResponse(Object):
    """The login succeeded."""


class LogoutAuthRequest(Object):
    """Log out."""


class LogoutAuthResponse(Object):
    """The user is logged out."""
