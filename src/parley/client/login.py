"""Logging in when the agent asks for it.

Spec: https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from parley.errors import AuthRequired, LocalProtocolError, Unsupported
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods
from parley.session.surface import ClientSurface

from .calling import called

__all__ = ["Chooser", "log_in", "logged_in"]

T = TypeVar("T")

Chooser: TypeAlias = Callable[
    [list[v2.AuthMethod]], "str | v2.AuthMethod | None | Awaitable[str | v2.AuthMethod | None]"
]
"""Gets the ways to log in; returns one of them, or its id, or None to give up."""


async def log_in(surface: ClientSurface, method_id: v2.AuthMethodId) -> None:
    """Log in by a method that the agent offers and carries out itself.

    Raises:
        Unsupported: The agent offers no login at all.
        LocalProtocolError: It does not offer this one, or it is one for a terminal.
    """
    offered = surface.agent.auth_methods
    if not offered:
        raise Unsupported(f"the {surface.peer.name} offers no login")
    method = next((each for each in offered if _id(each) == method_id), None)
    if method is None:
        raise LocalProtocolError(f"{method_id!r} is no way to log in; there are: {_list(offered)}")
    if isinstance(method, v2.AuthMethodTerminal):
        raise LocalProtocolError(
            f"{method_id!r} is a login in a terminal: run the agent's command there, with "
            f"{' '.join(method.args) or 'no more arguments'}, and connect again"
        )
    await surface.request(methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id=method_id))


async def logged_in(
    surface: ClientSurface, choose: Chooser | None, call: Callable[[], Awaitable[T]]
) -> T:
    """Do something that may need a login: log in as the user chooses, and do it once more.

    Raises:
        AuthRequired: Nobody chose, or the agent still wants a login.
    """
    try:
        return await call()
    except AuthRequired as error:
        chosen = None
        if choose is not None and surface.agent.auth_methods:
            chosen = await called(choose, list(surface.agent.auth_methods))
        if chosen is None:
            raise _explained(surface, error) from error
    await log_in(surface, chosen if isinstance(chosen, str) else _id(chosen) or "")
    try:
        return await call()
    except AuthRequired as error:
        raise _explained(surface, error) from error


def _explained(surface: ClientSurface, error: AuthRequired) -> AuthRequired:
    ways = _list(surface.agent.auth_methods)
    text = f"{error.message}: the {surface.peer.name} wants a login first; it offers {ways}"
    return AuthRequired(text, error.data)


def _list(offered: Sequence[v2.AuthMethod]) -> str:
    known = [each for each in offered if not isinstance(each, Unknown)]
    return ", ".join(f"{each.method_id!r} ({each.name})" for each in known) or "none"


def _id(method: v2.AuthMethod) -> v2.AuthMethodId | None:
    return None if isinstance(method, Unknown) else method.method_id
