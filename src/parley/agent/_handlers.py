"""The handlers that a program has registered with its agent, and the features they imply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, structs

from parley.errors import LocalProtocolError
from parley.peer import TypedHandler
from parley.schema import v2
from parley.session._capabilities import AgentFeatures
from parley.session._validation import check_handler

from ._command import DeclaredCommand, split_command
from ._config_options import DeclaredOption, with_stored_values
from ._login import Login
from ._session import AgentSession
from ._turn import PromptHandler, Turn

if TYPE_CHECKING:
    from ._connection import AgentConnection


SessionHook: TypeAlias = Callable[[AgentSession], Awaitable[None]]
OptionHook: TypeAlias = Callable[[AgentSession, str, str | bool], Awaitable[None]]
LogoutHandler: TypeAlias = Callable[["AgentConnection"], Awaitable[None]]
AuthStatusHandler: TypeAlias = Callable[["AgentConnection"], Awaitable[v2.AuthStatusResponse]]
ListProvidersHandler: TypeAlias = Callable[["AgentConnection"], Awaitable[list[v2.ProviderInfo]]]
SetProviderHandler: TypeAlias = Callable[
    [v2.SetProviderRequest, "AgentConnection"], Awaitable[None]
]
DisableProviderHandler: TypeAlias = Callable[[str, "AgentConnection"], Awaitable[None]]

_PARAMETERS = {
    "prompt": ("turn",),
    "open_session": ("session",),
    "close_session": ("session",),
    "set_config_option": ("session", "config_id", "value"),
    "logout": ("connection",),
    "auth_status": ("connection",),
    "list_providers": ("connection",),
    "set_provider": ("request", "connection"),
    "disable_provider": ("provider_id", "connection"),
}
"""The parameters of each handler; outside of sessions, the last one is the connection."""


class LoginMethod(Struct, frozen=True):
    """A login method and its handler."""

    method: v2.AuthMethodAgent | v2.AuthMethodTerminal
    handler: Callable[[Login], Awaitable[None]] | None
    """None for a login that runs in a terminal."""


class Handlers(Struct, kw_only=True):
    """The registered handlers of a program; None for those that it does not have."""

    prompt: PromptHandler | None = None
    open_session: SessionHook | None = None
    close_session: SessionHook | None = None
    set_config_option: OptionHook | None = None
    commands: dict[str, DeclaredCommand] = {}
    options: dict[str, DeclaredOption] = {}
    logins: dict[str, LoginMethod] = {}
    logout: LogoutHandler | None = None
    auth_status: AuthStatusHandler | None = None
    list_providers: ListProvidersHandler | None = None
    set_provider: SetProviderHandler | None = None
    disable_provider: DisableProviderHandler | None = None
    requests: dict[str, TypedHandler] = {}
    notifications: dict[str, TypedHandler] = {}

    def register(self, name: str, handler: Any) -> None:
        """Register the handler with this name.

        Raises:
            LocalProtocolError: There is already one.
            TypeError: It is not a coroutine function, or takes other arguments.
        """
        check_handler(handler, f"@agent.{name}", *_PARAMETERS[name], is_async=True)
        if getattr(self, name) is not None:
            raise LocalProtocolError(f"the agent already has a handler for {name}")
        setattr(self, name, handler)

    def features(self, claimed: AgentFeatures, *, keeps_sessions: bool = True) -> AgentFeatures:
        """Return the features of the agent: those that the program claims, and those implied.

        Args:
            claimed: The features that the program claims. Where `load`, `resume`, `list`, `close`
                and `delete` are None, an agent with a prompt handler offers them.
            keeps_sessions: Whether sessions can still exist when a client reconnects. If not, the
                agent does not offer `load` and `resume` unless the program claims them.

        Raises:
            LocalProtocolError: A handler is missing that another one needs.
        """
        if self.logins and self.logout is None:
            raise LocalProtocolError("an agent with a login method also needs a logout handler")
        providers = (self.list_providers, self.set_provider, self.disable_provider)
        if any(providers) and not all(providers):
            raise LocalProtocolError(
                "an agent with providers needs handlers to list, set and disable them"
            )
        has_sessions = self.prompt is not None
        if (self.commands or self.options) and not has_sessions:
            raise LocalProtocolError(
                "an agent with commands or config options also needs a prompt handler"
            )

        def offers(claim: bool | None, default: bool = True) -> bool:
            return has_sessions and (default if claim is None else claim)

        return structs.replace(
            claimed,
            sessions=has_sessions,
            load=offers(claimed.load, keeps_sessions),
            resume=offers(claimed.resume, keeps_sessions),
            list=offers(claimed.list),
            close=offers(claimed.close),
            delete=offers(claimed.delete),
            logout=bool(self.logins),
            auth_status=self.auth_status is not None,
            providers=any(providers),
        )

    async def announce(self, session: AgentSession) -> None:
        """Set the declared commands and config options of a session that is being opened.

        Config options keep the values that were stored with the session.
        """
        commands = [each.command for each in self.commands.values()]
        if commands and commands != session.commands:
            await session.set_commands(commands)
        options = with_stored_values(self.options.values(), session.config_options)
        if options != session.config_options:
            await session.set_config_options(options)

    async def reply(self, turn: Turn) -> v2.StopReason | None:
        """Call the handler of the command that a prompt starts with, or else the prompt handler.

        The session decides which commands there are; a program may have replaced the declared
        ones with `set_commands`.
        """
        assert self.prompt is not None
        name, argument = split_command(turn.text) or ("", "")
        offered = (each for each in turn.session.commands if isinstance(each, v2.Command))
        if name in self.commands and any(each.name == name for each in offered):
            return await self.commands[name].handler(turn, argument)
        return await self.prompt(turn)

    async def call_option_hooks(
        self, session: AgentSession, config_id: str, before: object
    ) -> None:
        """Call the hooks for an option that the user has set; they may raise.

        Args:
            session: The session, which has the new value.
            config_id: The id of the option.
            before: The value that it had.
        """
        value = session.option(config_id)
        option = self.options.get(config_id)
        if option is not None and option.hook is not None and value != before:
            await option.hook(session, value)
        if self.set_config_option is not None:
            await self.set_config_option(session, config_id, value)
