"""What a program has registered at its agent, and what follows from it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct, structs

from parley.errors import LocalProtocolError
from parley.peer import Typed
from parley.schema import v2
from parley.schema.v2 import unstable
from parley.session.features import AgentFeatures

from .login import Login
from .session import Session
from .turns import PromptHandler

__all__ = ["Handlers", "LoginMethod", "OptionHook", "SessionHook", "check_async"]

SessionHook: TypeAlias = Callable[[Session], Awaitable[None]]
OptionHook: TypeAlias = Callable[[Session, str, str | bool], Awaitable[None]]


def check_async(handler: Any) -> None:
    """Raise `TypeError` for a function that cannot be awaited."""
    if not any(map(inspect.iscoroutinefunction, (handler, type(handler).__call__))):
        name = getattr(handler, "__name__", repr(handler))
        raise TypeError(f"{name} has to be written with `async def`, and without `yield`")


class LoginMethod(Struct, frozen=True):
    """A way to log in."""

    method: v2.AuthMethodAgent | v2.AuthMethodTerminal
    handler: Callable[[Login], Awaitable[None]] | None
    """None where the login happens in a terminal."""


class Handlers(Struct, kw_only=True):
    """The functions of a program; None where it has none."""

    prompt: PromptHandler | None = None
    open_session: SessionHook | None = None
    close_session: SessionHook | None = None
    set_config_option: OptionHook | None = None
    logins: dict[str, LoginMethod] = {}
    logout: Callable[[], Awaitable[None]] | None = None
    auth_status: Callable[[], Awaitable[unstable.AuthStatusResponse]] | None = None
    list_providers: Callable[[], Awaitable[list[unstable.ProviderInfo]]] | None = None
    set_provider: Callable[[unstable.SetProviderRequest], Awaitable[None]] | None = None
    disable_provider: Callable[[str], Awaitable[None]] | None = None
    requests: dict[str, Typed] = {}
    notifications: dict[str, Typed] = {}

    def register(self, name: str, handler: Any) -> None:
        """Keep a function.

        Raises:
            LocalProtocolError: There is one already.
            TypeError: It is not asynchronous.
        """
        check_async(handler)
        if getattr(self, name) is not None:
            raise LocalProtocolError(f"the agent has a handler for {name} already")
        setattr(self, name, handler)

    def features(self, claimed: AgentFeatures) -> AgentFeatures:
        """Return what the agent offers: what the program claims, and what its functions can do.

        Raises:
            LocalProtocolError: A function is there without another one that it needs.
        """
        if self.logins and self.logout is None:
            raise LocalProtocolError("an agent with a login needs a function for logout as well")
        providers = (self.list_providers, self.set_provider, self.disable_provider)
        if any(providers) and not all(providers):
            raise LocalProtocolError("an agent with providers needs to list, set and disable them")
        has_sessions = self.prompt is not None
        return structs.replace(
            claimed,
            sessions=has_sessions,
            load=has_sessions,
            resume=has_sessions,
            list=has_sessions,
            close=has_sessions,
            delete=has_sessions,
            logout=bool(self.logins),
            auth_status=self.auth_status is not None,
            providers=any(providers),
        )
