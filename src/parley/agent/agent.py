"""The agent that a program defines: a name, a handler for prompts, and whatever else it can do."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, get_type_hints

from msgspec import structs

from parley.errors import LocalProtocolError, Overloaded
from parley.peer import Limits, Typed
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2 import unstable
from parley.schema.version import SUPPORTED
from parley.session.features import AgentFeatures
from parley.session.given import check_text
from parley.transport.base import Transport

from .addition import Addition
from .connection import Connection
from .handlers import Handlers, LoginMethod, OptionHook, SessionHook, check_async
from .login import Login
from .sessions import Sessions
from .stdio import run_on_stdio
from .store import MemoryStore, SessionStore, SharedStore
from .turns import GIVE_UP_AFTER, PromptHandler

if TYPE_CHECKING:
    from .http import HttpOptions

__all__ = ["Agent"]

logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
_LOOK_AFTER = 0.05
_MCP = {f"mcp_{kind}": True for kind in ("stdio", "http", "sse", "acp")}

H = TypeVar("H", bound=Callable[..., Any])
PH = TypeVar("PH", bound=PromptHandler)
SH = TypeVar("SH", bound=SessionHook)
OH = TypeVar("OH", bound=OptionHook)


class Agent:
    """An agent, served to clients of both versions of the protocol.

    It offers what its functions can do and nothing else. With a prompt handler it has sessions:
    they are opened, listed, resumed with a replay, closed and deleted without any help, as long as
    the store keeps them. What is only in the draft of the protocol (fork, archive, status, title),
    and what the program itself must take care of (pictures, MCP servers, additional directories),
    is offered when `features` claims it.
    """

    def __init__(
        self,
        name: str,
        *,
        title: str | None = None,
        version: str = "0",
        features: AgentFeatures | None = None,
        store: SessionStore | None = None,
        mcp: bool = False,
        meta: JsonObject | None = None,
    ) -> None:
        """Define an agent.

        Args:
            name: What programs call it.
            title: What people call it.
            version: Its own version.
            features: What it offers besides what its functions show.
            store: Where its sessions are kept; in memory if not given.
            mcp: Whether it offers every kind of MCP server that `session.mcp` reaches.
            meta: The `_meta` of its answer to initialize.

        Raises:
            Unsupported: It is to use MCP servers, and the `mcp` package is not installed.
        """
        check_text(name, "the name of an agent")
        if not name:
            raise ValueError("an agent needs a name")
        self.name = name
        self.title = title
        self.version = version
        self.features = features or AgentFeatures()
        if mcp:
            from .mcp import check_installed

            check_installed()
            self.features = structs.replace(self.features, **_MCP)
        self.store: SessionStore = store or MemoryStore()
        if isinstance(self.store, SharedStore):
            self.store.agent = self.store.agent or name
        self.meta = meta
        self.handlers = Handlers()
        self.additions: list[Addition] = []
        """What it serves besides its sessions."""
        self.limits = Limits()
        """What each of its connections may hold."""
        self.versions: tuple[int, ...] = SUPPORTED
        """The versions of the protocol that it speaks."""
        self.give_up_after = GIVE_UP_AFTER
        """How many seconds a cancelled handler has to end."""
        self.max_sessions = MAX_SESSIONS
        """How many sessions may be open on a connection."""
        self.holders: dict[str, Sessions] = {}
        """On which connection each session is open."""
        self._is_draining = False

    async def serve(self, transport: Transport) -> None:
        """Serve one client until its connection ends.

        Raises:
            LocalProtocolError: A function is missing that another one needs.
        """
        if self.handlers.prompt is None and not self.additions:
            logger.warning("%s has no function for prompts and offers no sessions", self.name)
        await Connection(self, transport).serve()

    async def drain(self, grace_after: float) -> None:
        """Take nothing new, and wait for the turns that run, for some seconds at most.

        Connections stay; whoever asks for a session or a turn on them is refused.
        """
        self._is_draining = True
        for _ in range(int(grace_after / _LOOK_AFTER)):
            if not any(each.is_busy for each in set(self.holders.values())):
                break
            await asyncio.sleep(_LOOK_AFTER)

    def check_open(self) -> None:
        """Refuse what is new when the agent is about to end.

        Raises:
            Overloaded: It is.
        """
        if self._is_draining:
            raise Overloaded(f"{self.name} is being shut down; try again later")

    def run(self, *, http: str | None = None, **options: Unpack[HttpOptions]) -> None:
        """Serve whoever started this program, on stdin and stdout, until the connection ends.

        Args:
            http: Serve the network instead, at `/acp` by HTTP and WebSocket, until a signal comes:
                where to listen, as `127.0.0.1:7400`. Who wants in needs a token; where it is kept
                is told on stderr. Turns that run then have `drain_after` seconds to end.
            options: How; see `HttpOptions`.

        Raises:
            ConfigError: The token or the certificate cannot be used.
            ConnectFailed: It cannot listen there, or what that needs is not installed.
        """
        self.handlers.features(self.features)
        if http is not None:
            from .http import run_on_http

            run_on_http(self, http, options)
            return
        if options:
            raise TypeError(f"{', '.join(options)}: only with http=")
        run_on_stdio(self.serve)

    def add(self, addition: Addition) -> None:
        """Serve something besides sessions, such as `parley.nes.Suggestions`, which calls this."""
        self.additions.append(addition)

    def prompt(self, handler: PH) -> PH:
        """Have this function called for each prompt: `async def reply(turn)`.

        It may return why it stopped, as `refusal`; what it raises ends the turn with an error.
        """
        self.handlers.register("prompt", handler)
        return handler

    def open_session(self, hook: SH) -> SH:
        """Have this function called for each session that is opened: `async def prepare(session)`.

        `session.origin` says whether it is new, resumed or forked. Commands and config options that
        it sets go with the answer; what it raises is the answer, such as `AuthRequired`.
        """
        self.handlers.register("open_session", hook)
        return hook

    def close_session(self, hook: SH) -> SH:
        """Have this function called for each session that is closed, whatever the reason."""
        self.handlers.register("close_session", hook)
        return hook

    def set_config_option(self, hook: OH) -> OH:
        """Have this function called for an option that the user sets.

        `async def change(session, config_id, value)`. The session has the new value already; what
        the function raises is the answer, and then the old value is back.
        """
        self.handlers.register("set_config_option", hook)
        return hook

    def login(
        self, method_id: str, *, name: str, description: str | None = None
    ) -> Callable[[Callable[[Login], Awaitable[None]]], Callable[[Login], Awaitable[None]]]:
        """Offer a way to log in, carried out by a function: `async def log_in(login)`."""
        method = v2.AuthMethodAgent(method_id=method_id, name=name, description=description)

        def register(
            handler: Callable[[Login], Awaitable[None]],
        ) -> Callable[[Login], Awaitable[None]]:
            check_async(handler)
            self._add_login(LoginMethod(method, handler))
            return handler

        return register

    def terminal_login(
        self,
        method_id: str,
        *,
        name: str,
        description: str | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Offer a way to log in by running this program in a terminal, with these arguments."""
        variables = [v2.EnvVariable(name=key, value=value) for key, value in (env or {}).items()]
        method = v2.AuthMethodTerminal(
            method_id=method_id, name=name, description=description, args=list(args), env=variables
        )
        self._add_login(LoginMethod(method, None))

    def _add_login(self, login: LoginMethod) -> None:
        if login.method.method_id in self.handlers.logins:
            raise LocalProtocolError(f"there is a login {login.method.method_id} already")
        self.handlers.logins[login.method.method_id] = login

    def logout(self, handler: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Have this function called to forget the login; needed where there is one."""
        self.handlers.register("logout", handler)
        return handler

    def auth_status(
        self, handler: Callable[[], Awaitable[unstable.AuthStatusResponse]]
    ) -> Callable[[], Awaitable[unstable.AuthStatusResponse]]:
        """Have this function called to tell whether the agent is logged in."""
        self.handlers.register("auth_status", handler)
        return handler

    def list_providers(
        self, handler: Callable[[], Awaitable[list[unstable.ProviderInfo]]]
    ) -> Callable[[], Awaitable[list[unstable.ProviderInfo]]]:
        """Have this function called to list the providers of models."""
        self.handlers.register("list_providers", handler)
        return handler

    def set_provider(
        self, handler: Callable[[unstable.SetProviderRequest], Awaitable[None]]
    ) -> Callable[[unstable.SetProviderRequest], Awaitable[None]]:
        """Have this function called to point a provider somewhere else.

        It must be one of the list, and have the protocol among those that it supports.
        """
        self.handlers.register("set_provider", handler)
        return handler

    def disable_provider(
        self, handler: Callable[[str], Awaitable[None]]
    ) -> Callable[[str], Awaitable[None]]:
        """Have this function called to disable a provider of the list that is not required."""
        self.handlers.register("disable_provider", handler)
        return handler

    def request(self, method: str) -> Callable[[H], H]:
        """Answer a request of your own: `async def answer(params, connection)`.

        The name begins with `_`. The annotation of the first parameter is the type that the params
        are read as, `msgspec.Raw` for the bytes; without one they are plain values.
        """
        return self._custom(self.handlers.requests, method)

    def notification(self, method: str) -> Callable[[H], H]:
        """Take a notification of your own: `async def take(params, connection)`."""
        return self._custom(self.handlers.notifications, method)

    def _custom(self, handlers: dict[str, Typed], method: str) -> Callable[[H], H]:
        if not method.startswith("_"):
            raise LocalProtocolError(f"a method of your own begins with an underscore: {method}")
        if method in handlers:
            raise LocalProtocolError(f"the agent has a handler for {method} already")

        def register(handler: H) -> H:
            check_async(handler)
            first = next(iter(inspect.signature(handler).parameters))
            params = get_type_hints(handler).get(first, Any)
            handlers[method] = Typed(handler, params)
            return handler

        return register
