"""Authentication: the methods that an agent offers, `authenticate`, `logout` and `auth/status`.

An agent lists its authentication methods in the response to `initialize`. The status methods are
unstable. Capabilities are in `capabilities.py`.

Spec: https://agentclientprotocol.com/protocol/v1/authentication
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import EMPTY_DICT, EMPTY_LIST, NullDefault, Object, Untagged

__all__ = [
    "AuthMethod",
    "AuthMethodAgent",
    "AuthMethodId",
    "AuthMethodTerminal",
    "AuthenticateRequest",
    "AuthenticateResponse",
    "LogoutRequest",
    "LogoutResponse",
]

AuthMethodId: TypeAlias = str
"""The id of an authentication method."""


class _AuthMethod(Object):
    """The fields that all authentication methods have."""

    id: AuthMethodId
    name: str
    description: str | None = None


class AuthMethodTerminal(_AuthMethod, tag_field="type", tag="terminal"):
    """The client runs the agent's own program in a terminal, and the user logs in there.

    Only for clients that offer `auth.terminal`. Never given to `authenticate`.
    """

    args: NullDefault[list[str]] = EMPTY_LIST
    """Arguments to append to the agent's command line."""
    env: NullDefault[dict[str, str]] = EMPTY_DICT
    """Environment variables to add."""


class AuthMethodAgent(_AuthMethod):
    """An authentication that the agent carries out itself when `authenticate` is called."""


AuthMethod: TypeAlias = Untagged[AuthMethodTerminal | AuthMethodAgent]
"""An authentication method; one of an unknown `type` is read as `AuthMethodAgent`."""


class AuthenticateRequest(Object):
    """Authenticate with one of the agent's methods."""

    method_id: AuthMethodId


class AuthenticateResponse(Object):
    """The user is authenticated."""


class LogoutRequest(Object):
    """Log the user out."""


class LogoutResponse(Object):
    """The user is logged out."""
