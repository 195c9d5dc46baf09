"""The agent that a program defines: a name, a prompt handler, and handlers for everything else."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from msgspec import structs

from parley._suggestions import suggests_options
from parley.errors import LocalProtocolError
from parley.peer import Limits, Observer, Tracer, TypedHandler
from parley.schema import v2
from parley.schema._custom_values import check_custom_method
from parley.schema.base import JsonObject
from parley.schema.version import SUPPORTED
from parley.session._capabilities import AgentFeatures
from parley.session._response_meta import ResponseMeta
from parley.session._validation import as_list, check_handler
from parley.transport._base import Transport

from ._agent_state import AgentSettings, AgentState, check_settings
from ._command import CommandHandler, check_command_name, declare_command
from ._config_options import ConfigOption, Values, declare_option
from ._connection_server import ConnectionServer
from ._extension import AgentExtension
from ._handlers import (
    AuthStatusHandler,
    DisableProviderHandler,
    ListProvidersHandler,
    LoginMethod,
    LogoutHandler,
    OptionHook,
    SessionHook,
    SetProviderHandler,
)
from ._login import Login
from ._serve_stdio import run_on_stdio
from ._store import MemoryStore, SessionStore, SharedStore
from ._turn import CANCEL_TIMEOUT, PromptHandler

if TYPE_CHECKING:
    from ._serve_http import HttpOptions
    from .asgi import AgentApp, AsgiOptions


logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
_MCP = {f"mcp_{kind}": True for kind in ("stdio", "http", "sse", "acp")}

H = TypeVar("H", bound=Callable[..., Any])
PH = TypeVar("PH", bound=PromptHandler)
SH = TypeVar("SH", bound=SessionHook)
OH = TypeVar("OH", bound=OptionHook)
CH = TypeVar("CH", bound=CommandHandler)


class Agent:
    """An agent, served to clients of both protocol versions.

    Create one, register handlers with its decorators, and run it:

    ```python
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    agent.run()
    ```

    `run` serves stdin and stdout, or the network with `http=`; `serve` serves one transport. Other
    decorators handle slash commands (`command`), sessions (`open_session`, `close_session`,
    `set_config_option`), logins (`login`, `logout`, `auth_status`), model providers, and extension
    methods (`request`, `notification`). `option` declares a config option.

    The agent offers clients exactly what its handlers support. With a prompt handler it has
    sessions: Parley opens, lists, resumes (with a replay), closes and deletes them, as long as the
    store keeps them. Set `features` to offer what exists only in the draft of the protocol (fork,
    archive, status, title) and what the program itself must support (images, MCP servers,
    additional directories).
    """

    @suggests_options
    def __init__(  # noqa: PLR0913 - every setting in one place, where `help(Agent)` shows it
        self,
        name: str,
        *,
        title: str | None = None,
        version: str = "0",
        features: AgentFeatures | None = None,
        store: SessionStore | None = None,
        mcp: bool = False,
        versions: Sequence[int] = SUPPORTED,
        limits: Limits | None = None,
        max_sessions: int = MAX_SESSIONS,
        cancel_timeout: float = CANCEL_TIMEOUT,
        meta: JsonObject | None = None,
        response_meta: ResponseMeta | None = None,
        observer: Observer | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        """Define an agent.

        Args:
            name: The name for programs.
            title: The name for people.
            version: The agent's own version.
            features: What it offers in addition to what its handlers imply.
            store: Where its sessions are saved; in memory by default.
            mcp: Whether to offer every kind of MCP server that `session.mcp` supports.
            versions: The protocol versions that it speaks; `(1,)` for version 1 only.
            limits: The limits of each of its connections.
            max_sessions: The maximum number of open sessions per connection.
            cancel_timeout: The seconds that a cancelled prompt handler has to end before it is
                abandoned.
            meta: The `_meta` of its `initialize` response.
            response_meta: Returns the `_meta` to add to a response, or None:
                `def add(method, params, result)`.
            observer: Called with each frame of each connection: `def see(direction, frame)`.
            tracer: Propagates tracing contexts.

        Raises:
            Unsupported: `mcp` is true, and the `mcp` package is not installed.
            TypeError: An argument has the wrong type, or a callback takes other arguments.
            ValueError: The name is empty, or a number or version is out of range.
        """
        features = AgentFeatures() if features is None else features
        store = MemoryStore() if store is None else store
        settings = AgentSettings(
            name=name,
            title=title,
            version=version,
            features=features,
            store=store,
            meta=meta,
            versions=tuple(as_list(versions, "versions=", "protocol versions", int)),
            limits=Limits() if limits is None else limits,
            max_sessions=max_sessions,
            cancel_timeout=cancel_timeout,
            observer=observer,
            tracer=tracer,
            response_meta=response_meta,
        )
        check_settings(settings)
        if mcp:
            from ._mcp import check_installed

            check_installed()
            settings = structs.replace(settings, features=structs.replace(features, **_MCP))
        if isinstance(store, SharedStore):
            store.agent = store.agent or name
        self._state = AgentState(settings)

    @property
    def name(self) -> str:
        """The name for programs."""
        return self._state.settings.name

    @property
    def title(self) -> str | None:
        """The name for people."""
        return self._state.settings.title

    @property
    def version(self) -> str:
        """The agent's own version."""
        return self._state.settings.version

    @property
    def features(self) -> AgentFeatures:
        """The features that it offers in addition to those that its handlers imply."""
        return self._state.settings.features

    @property
    def store(self) -> SessionStore:
        """The store in which its sessions are saved."""
        return self._state.settings.store

    async def serve(self, transport: Transport) -> None:
        """Serve one client until its connection ends.

        An agent can serve several clients at the same time, each with its own call. A session is
        open on one connection: if a second client opens it, its turn is cancelled, and it is closed
        for the first client. Use `parley serve`, or a `parley.gateway.Gateway` in your program, to
        let several clients share a session.

        Args:
            transport: The connection to the client, such as one end of `memory_pair()`.

        Raises:
            LocalProtocolError: A handler is missing that another one needs.
        """
        await self._serve(transport, keeps_sessions=True)

    async def _serve_only_client(self, transport: Transport) -> None:
        """Serve the client that started this process; the process ends with the connection.

        A client that reconnects starts a new process, which has no sessions in memory. So with a
        `MemoryStore`, the agent does not offer to resume sessions.
        """
        await self._serve(transport, keeps_sessions=not isinstance(self.store, MemoryStore))

    async def _serve(self, transport: Transport, *, keeps_sessions: bool) -> None:
        if self._state.handlers.prompt is None and not self._state.extensions:
            logger.warning("%s has no prompt handler, so it offers no sessions", self.name)
        server = ConnectionServer(self, self._state, transport, keeps_sessions=keeps_sessions)
        await server.serve()

    def run(self, *, http: str | None = None, **options: Unpack[HttpOptions]) -> None:
        """Serve the client that started this program on stdin and stdout, until it disconnects.

        Args:
            http: An address to listen on, such as `127.0.0.1:7400`. Serves HTTP and WebSocket
                clients at `/acp` instead, until SIGINT or SIGTERM. Clients need a token; a message
                on stderr says where it is saved. After the signal, running turns have 30 seconds
                to end. A second client that opens a session takes it over; `parley serve` shares
                it.
            options: Only with `http=`: `token_file=`, `tls=(certificate, key)`, `hosts=`,
                `origins=`, `allow_local_servers=` and `drain_after=`.

        Raises:
            ConfigError: The token or the certificate cannot be used.
            ConnectFailed: Listening on the address failed, or the HTTP extra is not installed.
            TypeError: There are HTTP options, but no `http=`.
        """
        self._state.handlers.features(self.features)
        if http is not None:
            from ._serve_http import run_on_http

            run_on_http(self, http, options, drained=self._state.drained)
            return
        if options:
            raise TypeError(f"{', '.join(options)}: only available with http=")
        run_on_stdio(self._serve_only_client)

    def asgi(self, **options: Unpack[AsgiOptions]) -> AgentApp:
        """Return an ASGI application that serves HTTP and WebSocket clients at `/acp`.

        Run it with any ASGI server, for example `uvicorn module:app`, or mount it in another
        application. The server provides TLS. When it shuts down, running turns have 30 seconds to
        end, and then all connections end.

        Args:
            options: `tokens=[…]`, the tokens that clients may use; or `token_file=`, a file with
                one. Without either, it is the token that `agent.run(http=…)` uses, which is
                generated in the state directory. `hosts=`, `origins=`, `allow_local_servers=` and
                `drain_after=` are those of `run`. `path=` replaces `/acp`.

        Raises:
            ConfigError: A token, a host or an origin cannot be used.
            TypeError: `tokens` is a string, or there is a token file as well.
        """
        from .asgi import AgentApp

        self._state.handlers.features(self.features)
        return AgentApp(self, options, self._state.drained)

    def prompt(self, handler: PH) -> PH:
        """Register the prompt handler: `async def reply(turn)`.

        It may return a stop reason, such as `"refusal"`. An exception ends the turn with an error.
        """
        self._state.handlers.register("prompt", handler)
        return handler

    def open_session(self, hook: SH) -> SH:
        """Register a hook that runs when a session is opened: `async def prepare(session)`.

        `session.origin` says whether the session is new, resumed or forked. Commands and config
        options that the hook sets are part of the response. An exception, such as `AuthRequired`,
        becomes the error response.
        """
        self._state.handlers.register("open_session", hook)
        return hook

    def close_session(self, hook: SH) -> SH:
        """Register a hook that runs when a session is closed: `async def clean(session)`."""
        self._state.handlers.register("close_session", hook)
        return hook

    def set_config_option(self, hook: OH) -> OH:
        """Register a hook for config options that the user sets.

        `async def change(session, config_id, value)`. The session already has the new value. An
        exception becomes the error response, and restores the old value.
        """
        self._state.handlers.register("set_config_option", hook)
        return hook

    def command(
        self, name: str, *, description: str | None = None, hint: str | None = None
    ) -> Callable[[CH], CH]:
        """Declare a slash command and register its handler: `async def review(turn, argument)`.

        ```python
        @agent.command("review", hint="which file")
        async def review(turn: Turn, argument: str) -> None:
            '''Review a file.'''
            await turn.say(f"I am reading {argument}.")
        ```

        Clients learn of it when a session is opened. A prompt that starts with `/review` calls this
        handler instead of the prompt handler; the argument is the rest of the text. Like a prompt
        handler, it may return a stop reason. `session.set_commands` replaces the commands of one
        session; a command that is not among them is not called there.

        Args:
            name: The name, without the slash.
            description: What it does; by default the first line of the handler's docstring.
            hint: What the user should type after the name; None for a command without an argument.

        Raises:
            LocalProtocolError: There is already a command with this name.
            TypeError: The handler is not a coroutine function, or takes other arguments.
            ValueError: The name is empty, starts with a slash, or has a space in it.
        """
        check_command_name(name)
        if name in self._state.handlers.commands:
            raise LocalProtocolError(f"the agent already has a command {name!r}")

        def register(handler: CH) -> CH:
            declared = declare_command(name, handler, description=description, hint=hint)
            self._state.handlers.commands[name] = declared
            return handler

        return register

    @overload
    def option(
        self,
        config_id: str,
        values: type[bool],
        *,
        default: bool = False,
        title: str | None = None,
        description: str | None = None,
        category: str | None = None,
    ) -> ConfigOption[bool]: ...

    @overload
    def option(
        self,
        config_id: str,
        values: Sequence[str] | Mapping[str, str],
        *,
        default: str | None = None,
        title: str | None = None,
        description: str | None = None,
        category: str | None = None,
    ) -> ConfigOption[str]: ...

    def option(
        self,
        config_id: str,
        values: Values,
        *,
        default: str | bool | None = None,
        title: str | None = None,
        description: str | None = None,
        category: str | None = None,
    ) -> ConfigOption[Any]:
        """Declare a config option, which the user can set in each session.

        ```python
        model = agent.option("model", {"fast": "Fast", "good": "Good but slow"}, category="model")
        verbose = agent.option("verbose", bool)
        ```

        Read its value with `turn.option(model)`; `@model.on_change` registers a hook for changes.
        A session that is resumed or forked keeps its values.

        Args:
            config_id: The id of the option.
            values: `bool`, a list of values, or a dict of values and their labels.
            default: The value in a new session; by default False, or the first value.
            title: The name for people; by default it follows from the id.
            description: More about it, for people.
            category: What it is about: `mode`, `model`, `model_config`, `thought_level`, or your
                own word with an underscore. Version 1 clients show a `mode` as their modes.

        Raises:
            LocalProtocolError: There is already an option with this id.
            TypeError: An argument has the wrong type.
            ValueError: There are no values, one comes twice, or the default is not one of them.
        """
        declared = declare_option(
            config_id,
            values,
            default=default,
            title=title,
            description=description,
            category=category,
        )
        if config_id in self._state.handlers.options:
            raise LocalProtocolError(f"the agent already has an option {config_id!r}")
        self._state.handlers.options[config_id] = declared
        return ConfigOption(declared)

    def login(
        self, method_id: str, *, name: str, description: str | None = None
    ) -> Callable[[Callable[[Login], Awaitable[None]]], Callable[[Login], Awaitable[None]]]:
        """Register a login method and its handler: `async def log_in(login)`.

        The handler returns when the user is logged in, and raises otherwise; see `Login`.
        """
        method = v2.AuthMethodAgent(method_id=method_id, name=name, description=description)

        def register(
            handler: Callable[[Login], Awaitable[None]],
        ) -> Callable[[Login], Awaitable[None]]:
            check_handler(handler, "@agent.login", "login", is_async=True)
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
        """Offer a login method that runs this program in a terminal, with these arguments.

        Only clients that support terminal logins see it.
        """
        variables = [v2.EnvVariable(name=key, value=value) for key, value in (env or {}).items()]
        method = v2.AuthMethodTerminal(
            method_id=method_id, name=name, description=description, args=list(args), env=variables
        )
        self._add_login(LoginMethod(method, None))

    def _add_login(self, login: LoginMethod) -> None:
        if login.method.method_id in self._state.handlers.logins:
            raise LocalProtocolError(f"there is already a login method {login.method.method_id}")
        self._state.handlers.logins[login.method.method_id] = login

    def logout(self, handler: LogoutHandler) -> LogoutHandler:
        """Register the logout handler: `async def log_out(connection)`.

        An agent with a login method needs one.
        """
        self._state.handlers.register("logout", handler)
        return handler

    def auth_status(self, handler: AuthStatusHandler) -> AuthStatusHandler:
        """Register the handler that returns the login state: `async def status(connection)`."""
        self._state.handlers.register("auth_status", handler)
        return handler

    def list_providers(self, handler: ListProvidersHandler) -> ListProvidersHandler:
        """Register the handler that lists the model providers: `async def providers(connection)`.

        An agent with providers needs all three: `list_providers`, `set_provider` and
        `disable_provider`.
        """
        self._state.handlers.register("list_providers", handler)
        return handler

    def set_provider(self, handler: SetProviderHandler) -> SetProviderHandler:
        """Register the handler that configures a provider: `async def set(request, connection)`.

        It is called only for listed providers, with an API type that the provider supports.
        """
        self._state.handlers.register("set_provider", handler)
        return handler

    def disable_provider(self, handler: DisableProviderHandler) -> DisableProviderHandler:
        """Register the handler that disables a provider.

        `async def disable(provider_id, connection)`. It is called only for listed providers that
        are not required.
        """
        self._state.handlers.register("disable_provider", handler)
        return handler

    def request(self, method: str) -> Callable[[H], H]:
        """Register a handler for an extension request: `async def handle(params, connection)`.

        The method name starts with an underscore. The annotation of the first parameter is the type
        that the params are decoded as, or `msgspec.Raw` for the undecoded bytes. Without an
        annotation, the params are plain JSON values.
        """
        return self._custom(self._state.handlers.requests, method, "@agent.request")

    def notification(self, method: str) -> Callable[[H], H]:
        """Register a handler for an extension notification: `async def take(params, connection)`.

        Method name and params are as for `request`.
        """
        return self._custom(self._state.handlers.notifications, method, "@agent.notification")

    def _custom(
        self, handlers: dict[str, TypedHandler], method: object, where: str
    ) -> Callable[[H], H]:
        if not isinstance(method, str):
            raise TypeError(f'{where} takes a method name, such as {where}("_example.com/add")')
        check_custom_method(method)
        if method in handlers:
            raise LocalProtocolError(f"the agent already has a handler for {method}")

        def register(handler: H) -> H:
            check_handler(handler, where, "params", "connection", is_async=True)
            handlers[method] = TypedHandler(handler, _params_type(handler))
            return handler

        return register


def add_extension(agent: Agent, extension: AgentExtension) -> None:
    """Add an extension to an agent; `parley.nes.Suggestions` calls this, programs do not."""
    agent._state.extensions.append(extension)  # pyright: ignore[reportPrivateUsage]


def _params_type(handler: Callable[..., Any]) -> Any:
    """Return the type to decode a handler's params as: the annotation of its first parameter."""
    first = next(iter(inspect.signature(handler, eval_str=True).parameters.values()))
    is_typed = first.annotation is not first.empty and first.kind is not first.VAR_POSITIONAL
    return first.annotation if is_typed else Any
