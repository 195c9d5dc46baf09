"""`connect`: reach a target and initialize the connection."""

from __future__ import annotations

import asyncio
import shlex
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, Unpack

from msgspec.structs import replace

from parley import __version__
from parley._interpreter import replace_parley
from parley._redaction import hide_in_command, is_secret
from parley.config import AgentEntry, agent_named
from parley.errors import AcpError, ConnectFailed, ConnectionClosed, MethodNotFound
from parley.journal import Journal, Recorder
from parley.peer import Limits, Observer, Peer, RequestContext, Tracer
from parley.peer._tracing import Observers
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.version import SUPPORTED
from parley.session._adapter import ClientAdapter, open_client_adapter
from parley.transport._base import MAX_MESSAGE_BYTES, Transport
from parley.transport._child_process import child_environment
from parley.transport._target import (
    Target,
    command_of,
    is_on_other_host,
    is_remote,
    open_target,
    target_identity,
)

from ._check_options import check_options
from ._connection import Connection
from ._connection_state import ConnectionSettings, ConnectionState
from ._handlers import (
    ClientHandlers,
    capabilities_of,
    handler_table,
    update_callback,
)
from ._login import Chooser, Launch, RunLogin
from ._session import Session

GIVE_UP_AFTER = 120.0
"""Default timeout of `initialize`, in seconds; some agents are downloaded before they start."""


class ConnectOptions(ClientHandlers, total=False):
    """The keyword arguments of `connect`: how to connect, and what the client does for the agent.

    The arguments that handle requests from the agent are inherited from `ClientHandlers`:
    `permission`, `policy`, `elicit`, `workspace` and others.
    """

    tools: Sequence[Callable[..., Any]]
    """Functions of this program that the agent may call in every session."""
    mcp_servers: Sequence[object]
    """MCP servers for every session, in the form that `SessionOptions` describes."""
    on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None
    """Called with every update of every session, after it is folded into the transcript."""
    login: Chooser | None
    """Chooses a login method when the agent requires a login."""
    terminal_login: RunLogin | None
    """Runs a login in a terminal, such as `run_login`; offered only if the target is a command."""
    name: str
    """The name of the agent in logs and errors."""
    info: v2.Implementation
    """The name and version of this program, as sent to the agent; by default Parley's."""
    meta: JsonObject | None
    """The `_meta` of the `initialize` request."""
    versions: tuple[int, ...]
    """The protocol versions to speak; the newest is offered first."""
    env: Mapping[str, str] | None
    """Environment variables for an agent process, added to the few that every child gets."""
    inherit: Iterable[str]
    """Names of further variables of this process that the agent process inherits."""
    on_start: Callable[[int], None] | None
    """Called with the process id of a started agent, before the agent has responded."""
    on_stderr: Callable[[bytes], None] | None
    """Called with each chunk that the agent process writes to stderr."""
    token: str | None
    """Sent to a remote agent with each request, as `Authorization: Bearer`."""
    headers: Mapping[str, str]
    """Further headers for each request to a remote agent."""
    ca_file: str | Path | None
    """A file with certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """The TLS settings; if given, `ca_file` is ignored."""
    allows_plain_token: bool
    """Whether a token may be sent to another machine without TLS."""
    on_state: Callable[[Literal["connected", "away", "gone"], str], None] | None
    """Called with the new state and the reason when the connection to a remote agent is lost
    (`away`), restored (`connected`) or given up (`gone`)."""
    give_up_after: float | None
    """Timeout of `initialize` in seconds, by default 120; None waits without a limit."""
    grace_after: float
    """Timeout of each step of ending the agent process, in seconds; by default 2."""
    max_message_bytes: int
    """Maximum size of a message in bytes."""
    limits: Limits | None
    """How much the connection may hold, such as requests in flight; see `Limits`."""
    journal: Journal | None
    """Records every session, frame by frame; a turn ends for the program once it is on disk."""
    observer: Observer | None
    """Called with the direction and each frame, sent or received."""
    tracer: Tracer | None
    """Records spans and passes on trace context, for distributed tracing."""


def connect(
    target: Target, cwd: str | Path = ".", **options: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[Connection]:
    """Connect to an agent, starting it if necessary, for the duration of an `async with` block.

        async with connect("opencode acp", permission=decide) as connection:
            session = await connection.new_session()
            print(await session.ask("What is in this directory?"))

    Nothing is allowed by default: without `permission` and `policy`, every permission request is
    answered as cancelled.

    Args:
        target: An agent object, the name of a configured agent, a command line (a string or a list
            of arguments), the URL of a remote agent (`https://…`, `wss://…`), or a transport.
        cwd: The directory that the agent is started in, and the default for its sessions.
        options: See `ConnectOptions`.

    Raises:
        ConnectFailed: The agent cannot be reached or started, or does not respond.
        Unauthorized: The server of a remote agent requires a token, or rejects the one it got.
        ConnectionClosed: The agent disconnected before it was initialized; for a process this is
            `ProcessExited`, with the exit code.
        VersionMismatch: The agent does not speak any of our protocol versions.
        RequestError: The agent returned an error to `initialize`.
        ConfigError: The user's configuration is not valid, or a variable for this agent is not set.
        TypeError: There is no such option, or its value has the wrong type.
    """
    check_options(options, ConnectOptions)
    return _connected(target, Path(cwd).absolute(), options)


@asynccontextmanager
async def _connected(
    target: Target, cwd: Path, options: ConnectOptions
) -> AsyncGenerator[Connection]:
    target, options = _configured(target, options)
    connector = _Connector(target, cwd, options)
    try:
        yield await connector.open()
    finally:
        await connector.close()


def _configured(target: Target, options: ConnectOptions) -> tuple[Target, ConnectOptions]:
    """Replace a configured name by its target and options; explicit options take precedence."""
    entry = agent_named(target) if isinstance(target, str) else None
    if entry is None:
        return target, options
    known: ConnectOptions = {
        "name": entry.name,
        "env": {**entry.resolve_env(), **(options.get("env") or {})},
        "inherit": [*entry.inherit, *options.get("inherit", ())],
    }
    if entry.url:
        known |= remote_options(entry)
    if entry.protocol is not None:
        known["versions"] = (entry.protocol,)
    return entry.target, {**known, **options, "env": known["env"], "inherit": known["inherit"]}


def remote_options(entry: AgentEntry, environ: Mapping[str, str] | None = None) -> ConnectOptions:
    """Return the options for a configured remote agent: its token and its CA file.

    Raises:
        ConfigError: The variable of the token is not set, or its file cannot be used.
    """
    token, ca_file = entry.resolve_token(environ), entry.ca_file
    return {"token": token, "ca_file": Path(ca_file).expanduser() if ca_file else None}


def _shown(target: Target) -> str:
    """Return a command or a URL without its secrets, for display; empty for an object."""
    words = _hidden(target)[0]
    return words[0] if len(words) == 1 else shlex.join(words)


def _hidden(target: Target) -> tuple[list[str], set[str]]:
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
        self._reached = AsyncExitStack()
        self._is_echo = False
        self._command = _shown(target)
        self._recorder = self._new_recorder()

    async def open(self) -> Connection:
        """Reach the agent, initialize the connection and return it."""
        transport = await self._reached.enter_async_context(self._reach())
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
        if state.pid is not None and (on_start := options.get("on_start")) is not None:
            on_start(state.pid)
        peer.set_handlers(None, requests={"initialize": self._echoed})
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
            raise ConnectFailed(
                f"{self._command or connection.name} did not respond to initialize within "
                f"{seconds:g} seconds; {connection.peer.diagnosis or 'is it an agent?'}"
            ) from error

    def _reach(self) -> AbstractAsyncContextManager[Transport]:
        options = self._options
        return open_target(
            self._target,
            cwd=self._cwd,
            env=options.get("env"),
            inherit=options.get("inherit", ()),
            on_stderr=options.get("on_stderr"),
            grace_after=options.get("grace_after", 2.0),
            max_message_bytes=options.get("max_message_bytes", MAX_MESSAGE_BYTES),
            token=options.get("token"),
            headers=options.get("headers", {}),
            ca_file=options.get("ca_file"),
            tls=options.get("tls"),
            allows_plain_token=options.get("allows_plain_token", False),
            on_state=options.get("on_state"),
        )

    def _new_recorder(self) -> Recorder | None:
        """Return a recorder that masks the secrets in the agent's environment and command."""
        options = self._options
        journal = options.get("journal")
        if journal is None:
            return None
        label = options.get("name") or self._command or type(self._target).__name__
        environment = child_environment(options.get("env"), options.get("inherit", ()))
        secrets = {value for name, value in environment.items() if is_secret(name, value)}
        secrets |= _hidden(self._target)[1]
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
        env = child_environment(self._options.get("env"), self._options.get("inherit", ()))
        command = replace_parley(command)
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
                versions=options.get("versions", SUPPORTED),
            )
        except AcpError as error:
            if not self._is_echo:
                raise
            raise ConnectFailed(
                f"{self._command or connection.name} is not an agent: it echoes its input; "
                "pass the command that starts an agent"
            ) from error

    async def _echoed(self, params: object, context: RequestContext) -> None:
        """Record that our own request came back: the target echoes its input."""
        self._is_echo = True
        raise MethodNotFound(data={"method": context.method})

    async def _open_again(self) -> None:
        """Restart the agent; the program keeps the same `Connection`, without its sessions."""
        assert self._state is not None
        await self._state.disconnect()
        self._state.sessions.clear()
        await self._reached.aclose()
        await self.open()

    async def close(self) -> None:
        """Close the connection, and end the process that was started for it."""
        try:
            if self._state is not None:
                await self._state.aclose()
        finally:
            await self._reached.aclose()
