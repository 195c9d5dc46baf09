"""`connect`: reach a target and initialize the connection."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from msgspec.structs import replace

from parley import __version__
from parley._redaction import hide_in_command, is_secret
from parley._suggestions import suggests_options
from parley.config import Config, is_agent_name, load
from parley.errors import AcpError, ConnectFailed, ConnectionClosed, MethodNotFound
from parley.journal import Journal, Recorder
from parley.peer import Limits, Observer, Peer, RequestContext, Tracer, TypedHandler
from parley.peer._tracing import Observers
from parley.policy import Policy
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.version import SUPPORTED
from parley.session._adapter import ClientAdapter, open_client_adapter
from parley.session._response_meta import ResponseMeta
from parley.transport._base import MAX_MESSAGE_BYTES, Transport
from parley.transport._child_process import child_environment
from parley.transport._target import (
    Target,
    command_of,
    command_to_start,
    is_on_other_host,
    is_remote,
    open_target,
    target_identity,
)

from ._check_options import check_options
from ._connect_options import ConnectOptions
from ._connection import Connection
from ._connection_state import ConnectionSettings, ConnectionState
from ._elicitation import Elicit, ElicitUrl
from ._entry_options import options_of
from ._handlers import capabilities_of, handler_table, update_callback
from ._login import Chooser, Launch, RunLogin
from ._permission_handler import Decide, OnDecision
from ._session import Session
from ._target_settings import Process, Remote, merged_process, target_options
from .workspace._workspace import Workspace

GIVE_UP_AFTER = 120.0
"""Default timeout of `initialize`, in seconds; some agents are downloaded before they start."""


@suggests_options
def connect(  # noqa: PLR0913 - the options of a connection; `help(connect)` shows them all
    target: Target,
    cwd: str | Path = ".",
    *,
    process: Process | None = None,
    remote: Remote | None = None,
    config: Config | bool = False,
    name: str = "",
    info: v2.Implementation | None = None,
    meta: JsonObject | None = None,
    versions: Sequence[int] = SUPPORTED,
    give_up_after: float | None = GIVE_UP_AFTER,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    limits: Limits | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    mcp_servers: Sequence[object] = (),
    on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None = None,
    login: Chooser | None = None,
    terminal_login: RunLogin | None = None,
    journal: Journal | None = None,
    observer: Observer | None = None,
    tracer: Tracer | None = None,
    policy: Policy | None = None,
    permission: Decide | None = None,
    on_decision: OnDecision | None = None,
    elicit: Elicit | None = None,
    elicit_url: ElicitUrl | None = None,
    on_elicitation_complete: Callable[[v2.ElicitationId], object] | None = None,
    on_auth_status: Callable[[v2.AuthStatusUpdateNotification], object] | None = None,
    workspace: Workspace | None = None,
    editor: object | None = None,
    nes: v2.ClientNesCapabilities | None = None,
    position_encodings: Sequence[v2.PositionEncodingKind] = (),
    extensions: Mapping[str, Callable[[Any], Any] | TypedHandler] | None = None,
    response_meta: ResponseMeta | None = None,
    capabilities_meta: JsonObject | None = None,
) -> AbstractAsyncContextManager[Connection]:
    """Connect to an agent, starting it if necessary, for the duration of an `async with` block.

        async with connect("opencode acp", permission=decide) as connection:
            session = await connection.new_session()
            print(await session.ask("What is in this directory?"))

    Nothing is allowed by default: without `permission` and `policy`, every permission request is
    answered as cancelled. A feature without a handler is not offered to the agent. Functions may be
    plain or `async`, unless their type says otherwise.

    Args:
        target: An agent object, a command line (a string or a list of arguments), the URL of a
            remote agent (`https://…`, `wss://…`), a transport, or with `config` the name of a
            configured agent. A relative path of the program or its script is resolved against the
            current directory of this program, not against `cwd`.
        cwd: The directory that the agent is started in, and the default for its sessions.
        process: How to start a command: environment, stderr, how it is ended; see `Process`.
        remote: How to reach a URL: token, headers, TLS; see `Remote`.
        config: True to look up the target in the user's configuration file, or a `Config` to look
            it up there. By default no file is read, and the target is never a name.
        name: The name of the agent in logs and errors.
        info: The name and version of this program, as sent to the agent; by default Parley's.
        meta: The `_meta` of the `initialize` request.
        versions: The protocol versions to speak; the newest is offered first.
        give_up_after: Timeout of `initialize` in seconds; None waits without a limit. The default
            is long because some agents are downloaded before they start.
        max_message_bytes: Maximum size of a message in bytes.
        limits: How much the connection may hold, such as requests in flight; see `Limits`.
        tools: Functions of this program that the agent may call in every session.
        mcp_servers: MCP servers for every session, in the form that `SessionOptions` describes.
        on_update: `on_update(session, update)` is called with every update of every session, after
            it is folded into the transcript.
        login: `login(methods)` chooses a login method when the agent requires a login.
        terminal_login: `terminal_login(login)` runs a login in a terminal, such as `run_login`;
            offered only if the target is a command.
        journal: Records every session, frame by frame; a turn ends for the program once it is on
            disk.
        observer: `observer(direction, frame)` is called with each frame, sent or received.
        tracer: Records spans and passes on trace context, for distributed tracing.
        policy: Decides permission requests before the user is asked.
        permission: `permission(request, session)` decides permission requests, usually by asking
            the user.
        on_decision: `on_decision(decided, session)` is called with the outcome of each permission
            request.
        elicit: `elicit(request, session)` shows a form to the user; the session may be None.
        elicit_url: `elicit_url(request, session)` asks the user whether to open a web page, and
            opens it.
        on_elicitation_complete: Called with the id when the user has finished on such a page.
        on_auth_status: Unstable: called when the agent reports a login or a logout.
        workspace: Reads and writes files and runs commands for the agent; used by version 1 only.
        editor: An object that reports which files the user has open, with any of the methods
            `open_documents`, `recent_documents` and `active_document`.
        nes: The kinds of next edit suggestions that the client shows besides edits; see
            `parley.nes`.
        position_encodings: The encodings in which the client can count the characters of a
            position, best first.
        extensions: Handlers of extension methods by name, which starts with `_`. A function gets
            the params and returns the result; with a `TypedHandler`, the params are decoded to its
            type first.
        response_meta: `response_meta(method, params, result)` returns the `_meta` to add to a
            response to the agent.
        capabilities_meta: The `_meta` of the client capabilities, for offering extensions.

    Raises:
        ConnectFailed: The agent cannot be reached or started, or does not respond.
        Unauthorized: The server of a remote agent requires a token, or rejects the one it got.
        ConnectionClosed: The agent disconnected before it was initialized; for a process this is
            `ProcessExited`, with the exit code.
        VersionMismatch: The agent does not speak any of our protocol versions.
        RequestError: The agent returned an error to `initialize`.
        ConfigError: The configuration is not valid, or a variable for this agent is not set.
        TypeError: An option has a value of the wrong type.
    """
    # All parameters but two are options. A test compares the signature with `ConnectOptions`.
    options = locals().copy()
    del options["target"], options["cwd"]
    check_options(options, ConnectOptions)
    return _connected(target, Path(cwd).absolute(), cast("ConnectOptions", options))


@asynccontextmanager
async def _connected(
    target: Target, cwd: Path, options: ConnectOptions
) -> AsyncGenerator[Connection]:
    target, options = _resolve_configured(target, options)
    connector = _Connector(target, cwd, options)
    try:
        yield await connector.open()
    finally:
        await connector.close()


def _resolve_configured(target: Target, options: ConnectOptions) -> tuple[Target, ConnectOptions]:
    """Replace a configured name by its target and options; explicit options take precedence."""
    config = options.get("config", False)
    if config is False or not isinstance(target, str) or not is_agent_name(target):
        return target, options
    entry = (load() if config is True else config).find(target)
    if entry is None:
        return target, options
    known = options_of(entry)
    if (process := options.get("process")) is not None:
        known["process"] = merged_process(known.get("process") or Process(), process)
    if options.get("remote") is not None:
        known["remote"] = options.get("remote")
    if options.get("name", ""):
        known["name"] = options.get("name", "")
    if tuple(options.get("versions", SUPPORTED)) != SUPPORTED:
        known["versions"] = options.get("versions", SUPPORTED)
    return entry.target, {**options, **known}


def _display_target(target: Target) -> str:
    """Return a command or a URL without its secrets, for display; empty for an object."""
    words = _mask_secrets(target)[0]
    return words[0] if len(words) == 1 else shlex.join(words)


def _mask_secrets(target: Target) -> tuple[list[str], set[str]]:
    """Return the words of a command or a URL with the secrets masked, and the secrets."""
    command = command_of(target)
    if command is not None:
        return hide_in_command(command)
    return hide_in_command([target.partition("?")[0]] if isinstance(target, str) else [])


class _Connector:
    """Opens the connection to an agent, and opens it again after a login in a terminal."""

    def __init__(self, target: Target, cwd: Path, options: ConnectOptions) -> None:
        self._target = target
        self._cwd = cwd
        self._options = options
        self._state: ConnectionState | None = None
        self._transport_stack = AsyncExitStack()
        self._is_echo = False
        self._process = options.get("process") or Process()
        self._remote = options.get("remote") or Remote()
        self._command = _display_target(target)
        self._recorder = self._new_recorder()

    async def open(self) -> Connection:
        """Reach the agent, initialize the connection and return it."""
        transport = await self._transport_stack.enter_async_context(self._open_transport())
        options = self._options
        peer = Peer(
            transport,
            "client",
            name=options.get("name", ""),
            limits=options.get("limits"),
            observer=self._observers(),
            tracer=options.get("tracer"),
            skips_noise=True,
        )
        state = self._state
        if state is None:
            state = self._state = self._new_connection(peer)
        state.peer = peer
        state.pid = getattr(transport, "pid", None)
        state.is_on_other_host = isinstance(self._target, str) and is_on_other_host(self._target)
        if state.pid is not None and (on_start := self._process.on_start) is not None:
            on_start(state.pid)
        peer.set_handlers(None, requests={"initialize": self._handle_echo})
        peer.start()
        try:
            state.start(await self._initialize_in_time(state))
        except ConnectionClosed as error:
            refusal: ConnectFailed | None = getattr(transport, "refusal", None)
            if refusal is None:
                raise
            raise refusal from error
        return state.connection

    async def _initialize_in_time(self, connection: ConnectionState) -> ClientAdapter:
        """Initialize the connection within the timeout.

        Raises:
            ConnectFailed: The agent did not respond in time.
        """
        seconds = self._options.get("give_up_after", GIVE_UP_AFTER)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._initialize(connection)
        except TimeoutError as error:
            if not limit.expired():
                raise
            is_named = bool(self._options.get("name"))
            doubt = "its stderr may say why" if is_named else "is it an agent?"
            raise ConnectFailed(
                f"{self._command or connection.name} did not respond to initialize within "
                f"{seconds:g} seconds; {connection.peer.diagnosis or doubt}"
            ) from error

    @asynccontextmanager
    async def _open_transport(self) -> AsyncGenerator[Transport]:
        """Open a transport to the agent.

        Raises:
            ConnectFailed: It cannot be reached; if it may be the name of a configured agent, the
                text says how to use one.
        """
        options = target_options(self._process, self._remote)
        options["cwd"] = self._cwd
        options["max_message_bytes"] = self._options.get("max_message_bytes", MAX_MESSAGE_BYTES)
        opening = open_target(self._target, **options)
        async with AsyncExitStack() as stack:
            try:
                transport = await stack.enter_async_context(opening)
            except ConnectFailed as error:
                if isinstance(error.__cause__, FileNotFoundError) and self._may_be_configured():
                    raise ConnectFailed(
                        f"{self._target} is not a command on PATH. To use an agent from your "
                        "configuration file, pass config=True."
                    ) from error
                raise
            yield transport

    def _may_be_configured(self) -> bool:
        """Return whether the target looks like a name, and no configuration was searched."""
        target = self._target
        return (
            self._options.get("config", False) is False
            and isinstance(target, str)
            and is_agent_name(target)
            and self._cwd.is_dir()
            and shutil.which(target) is None
        )

    def _new_recorder(self) -> Recorder | None:
        """Return a recorder that masks the secrets in the agent's environment and command."""
        options = self._options
        journal = options.get("journal")
        if journal is None:
            return None
        label = options.get("name", "") or self._command or type(self._target).__name__
        environment = child_environment(self._process.env, self._process.inherit)
        secrets = {value for name, value in environment.items() if is_secret(name, value)}
        secrets |= _mask_secrets(self._target)[1]
        is_shared = isinstance(self._target, str) and is_remote(self._target)
        return Recorder(journal, agent=label, secrets=secrets, is_shared=is_shared)

    def _observers(self) -> Observer | Observers | None:
        """Return the program's observer, with the recorder before it if there is a journal."""
        observer, recorder = self._options.get("observer"), self._recorder
        return observer if recorder is None else Observers(recorder, observer)

    def _new_connection(self, peer: Peer) -> ConnectionState:
        options = self._options
        settings = ConnectionSettings(
            cwd=self._cwd,
            identity=target_identity(self._target, options.get("name", "")) or token_hex(16),
            recorder=self._recorder,
            on_update=update_callback(options.get("on_update")),
            tools=options.get("tools", ()),
            mcp_servers=options.get("mcp_servers", ()),
            choose_login=options.get("login"),
            launch=self._launch(),
        )
        return ConnectionState(peer, settings)

    def _launch(self) -> Launch | None:
        """Return how to run a login in a terminal; None if that is not possible."""
        run, command = self._options.get("terminal_login"), command_of(self._target)
        if run is None or command is None:
            return None
        env = child_environment(self._process.env, self._process.inherit)
        command = command_to_start(command, self._cwd)
        return Launch(command=command, cwd=self._cwd, env=env, run=run, again=self._open_again)

    async def _initialize(self, connection: ConnectionState) -> ClientAdapter:
        """Send `initialize` and return the adapter for the negotiated version.

        Raises:
            ConnectFailed: The target only echoes its input.
        """
        options = self._options
        features = capabilities_of(options)
        if self._launch() is not None:
            features = replace(features, terminal_login=True)
        connection.offered = features
        try:
            return await open_client_adapter(
                connection.peer,
                info=options.get("info") or v2.Implementation(name="parley", version=__version__),
                features=features,
                meta=options.get("meta"),
                program=handler_table(connection, options),
                versions=tuple(options.get("versions", SUPPORTED)),
            )
        except AcpError as error:
            if not self._is_echo:
                raise
            raise ConnectFailed(
                f"{self._command or connection.name} is not an agent: it echoes its input; "
                "pass the command that starts an agent"
            ) from error

    async def _handle_echo(self, params: object, context: RequestContext) -> None:
        """Record that our own request came back: the target echoes its input."""
        self._is_echo = True
        raise MethodNotFound(data={"method": context.method})

    async def _open_again(self) -> None:
        """Restart the agent; the program keeps the same `Connection`, without its sessions."""
        assert self._state is not None
        await self._state.disconnect()
        self._state.sessions.clear()
        await self._transport_stack.aclose()
        await self.open()

    async def close(self) -> None:
        """Close the connection, and end the process that was started for it."""
        try:
            if self._state is not None:
                await self._state.aclose()
        finally:
            await self._transport_stack.aclose()
