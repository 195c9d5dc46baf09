"""`connect`: from a target to a connection that is initialized."""

from __future__ import annotations

import asyncio
import shlex
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal, Unpack

from msgspec.structs import replace

from parley import __version__
from parley.config import AgentEntry, agent_named
from parley.errors import AcpError, ConnectFailed, ConnectionClosed, MethodNotFound
from parley.journal import Journal, Recorder
from parley.peer import Limits, Observer, Peer, RequestContext, Tracer
from parley.peer.middleware import Direction
from parley.rpc.framing import Frame
from parley.schema import v2
from parley.schema.version import SUPPORTED
from parley.secrets import is_secret
from parley.session.surface import ClientSurface, open_client
from parley.transport.base import MAX_MESSAGE_BYTES, Transport
from parley.transport.child import child_environment
from parley.transport.target import Target, command_of, is_elsewhere, is_remote, open_target

from .connection import Connection
from .login import Chooser, Launch, RunLogin
from .offers import Offers, features_of, program_of, update_callback
from .options import check_options
from .session import Session

__all__ = ["ConnectOptions", "connect", "remote_options"]

GIVE_UP_AFTER = 120.0
"""How many seconds an agent has to answer initialize; some are downloaded before they start."""


class ConnectOptions(Offers, total=False):
    """How to connect, and what the program does for the agent."""

    tools: Sequence[Callable[..., Any]]
    """Functions of this program that the agent may call, in every session."""
    mcp_servers: Sequence[object]
    """MCP servers that the agent is to use in every session, as `SessionOptions` has them."""
    on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None
    """Called with every update of every session, after it was folded into the transcript."""
    login: Chooser | None
    """Chooses how to log in when the agent asks for it."""
    terminal_login: RunLogin | None
    """Runs a login in a terminal, as `run_login` does; offered where the target is a command."""
    name: str
    """What to call the agent in logs and errors."""
    info: v2.Implementation
    """Which program we are."""
    versions: tuple[int, ...]
    """The versions of the protocol to speak; the newest is offered first."""
    env: Mapping[str, str] | None
    """Variables for an agent that is started, besides a few that every child gets."""
    inherit: Iterable[str]
    """Names of further variables of ours that it gets."""
    on_start: Callable[[int], None] | None
    """Called with the process of an agent that was started, before it has answered anything."""
    on_stderr: Callable[[bytes], None] | None
    """Called with each piece that it writes to stderr."""
    token: str | None
    """Goes to a remote agent with each request, as `Authorization: Bearer`."""
    headers: Mapping[str, str]
    """Further headers of each request to a remote agent."""
    ca_file: str | Path | None
    """Certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """How TLS is done; then `ca_file` is not looked at."""
    allows_plain_token: bool
    """Whether a token may go to another machine without TLS."""
    on_state: Callable[[Literal["connected", "away", "gone"], str], None] | None
    """Is told when a remote agent is away, is back, or is given up, and why."""
    give_up_after: float | None
    """How many seconds it has to answer initialize, 120 unless told otherwise; None for ever."""
    grace_after: float
    """How long each step of ending it may take."""
    max_message_bytes: int
    """How long a message may be."""
    limits: Limits | None
    """What the connection may hold."""
    journal: Journal | None
    """Keeps every session, frame by frame; the end of a turn is seen when it is on disk."""
    observer: Observer | None
    """Sees each frame, in both directions."""
    tracer: Tracer | None
    """Takes part in distributed tracing."""


def connect(
    target: Target, cwd: str | Path = ".", **options: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[Connection]:
    """Reach an agent and initialize the connection, which lasts as long as the block.

    Args:
        target: An agent object, the name of a configured agent, a command line (a string, or a list
            of arguments), the address of a remote agent (`https://…`, `wss://…`), or a transport.
        cwd: Where the agent is started and where its sessions work unless told otherwise.
        options: See `ConnectOptions`.

    Raises:
        ConnectFailed: The agent cannot be reached or started, or does not answer.
        Unauthorized: A remote agent's server wants a token, or another one.
        ConnectionClosed: It has gone before it was initialized; `ProcessExited` tells how.
        VersionMismatch: It speaks no version of the protocol that we do.
        RequestError: It refused to be initialized.
        ConfigError: The user's configuration cannot be read, or lacks a variable for this agent.
        TypeError: There is no such option, or it is something else than it should be.
    """
    check_options(options, ConnectOptions)
    return _connected(target, Path(cwd).absolute(), options)


@asynccontextmanager
async def _connected(
    target: Target, cwd: Path, options: ConnectOptions
) -> AsyncGenerator[Connection]:
    target, options = _configured(target, options)
    line = _Line(target, cwd, options)
    try:
        yield await line.open()
    finally:
        await line.close()


def _configured(target: Target, options: ConnectOptions) -> tuple[Target, ConnectOptions]:
    """Return what the user's configuration says about a name; what is given here counts more."""
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
    """Return how a configured agent that is elsewhere is spoken to.

    Raises:
        ConfigError: Its token is not there.
    """
    token, ca_file = entry.resolve_token(environ), entry.ca_file
    return {"token": token, "ca_file": Path(ca_file).expanduser() if ca_file else None}


def _shown(target: Target) -> str:
    """Return a command or an address as it may be shown; empty for an object."""
    command = command_of(target)
    if command is not None:
        return shlex.join(command)
    return target.partition("?")[0] if isinstance(target, str) else ""


class _Line:
    """The way to an agent, which is gone again after a login in a terminal."""

    def __init__(self, target: Target, cwd: Path, options: ConnectOptions) -> None:
        self._target = target
        self._cwd = cwd
        self._options = options
        self._connection: Connection | None = None
        self._reached = AsyncExitStack()
        self._is_mirror = False
        self._command = _shown(target)
        self._recorder = self._new_recorder()

    async def open(self) -> Connection:
        """Reach the agent and initialize the connection."""
        transport = await self._reached.enter_async_context(self._reach())
        options = self._options
        peer = Peer(
            transport,
            "client",
            name=options.get("name", ""),
            limits=options.get("limits"),
            observer=self._observer(),
            tracer=options.get("tracer"),
            skips_noise=True,
        )
        connection = self._connection
        if connection is None:
            connection = self._connection = self._new_connection(peer)
        connection.peer = peer
        connection.pid = getattr(transport, "pid", None)
        connection.is_elsewhere = isinstance(self._target, str) and is_elsewhere(self._target)
        if connection.pid is not None and (on_start := options.get("on_start")) is not None:
            on_start(connection.pid)
        peer.use(None, requests={"initialize": self._mirrored})
        peer.start()
        try:
            connection.begin(await self._in_time(connection))
        except ConnectionClosed as error:
            refusal: ConnectFailed | None = getattr(transport, "refusal", None)
            if refusal is None:
                raise
            raise refusal from error
        return connection

    async def _in_time(self, connection: Connection) -> ClientSurface:
        seconds = self._options.get("give_up_after", GIVE_UP_AFTER)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._initialize(connection)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ConnectFailed(
                f"{self._command or connection.name} has not answered initialize for {seconds:g} "
                "seconds; is it an agent?"
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
        options = self._options
        journal = options.get("journal")
        if journal is None:
            return None
        label = options.get("name") or self._command or type(self._target).__name__
        given = child_environment(options.get("env"), options.get("inherit", ()))
        secrets = {value for name, value in given.items() if is_secret(name, value)}
        is_shared = isinstance(self._target, str) and is_remote(self._target)
        return Recorder(journal, agent=label, secrets=secrets, is_shared=is_shared)

    def _observer(self) -> Observer | None:
        observer, recorder = self._options.get("observer"), self._recorder
        if recorder is None or observer is None:
            return observer if recorder is None else recorder.observe

        def both(direction: Direction, frame: Frame) -> None:
            recorder.observe(direction, frame)
            observer(direction, frame)

        return both

    def _new_connection(self, peer: Peer) -> Connection:
        connection = Connection(peer, self._cwd, self._recorder)
        connection.on_update = update_callback(self._options.get("on_update"))
        connection.give(self._options.get("tools", ()), self._options.get("mcp_servers", ()))
        connection.log_in_by(self._options.get("login"), self._launch())
        return connection

    def _launch(self) -> Launch | None:
        """Return how to run a login in a terminal; None if that cannot be done."""
        run, command = self._options.get("terminal_login"), command_of(self._target)
        if run is None or command is None:
            return None
        env = child_environment(self._options.get("env"), self._options.get("inherit", ()))
        return Launch(command=command, cwd=self._cwd, env=env, run=run, again=self._open_again)

    async def _initialize(self, connection: Connection) -> ClientSurface:
        options = self._options
        features = features_of(options)
        if self._launch() is not None:
            features = replace(features, terminal_login=True)
        connection.offered = features
        try:
            return await open_client(
                connection.peer,
                info=options.get("info") or v2.Implementation(name="parley", version=__version__),
                features=features,
                program=program_of(connection, options),
                versions=options.get("versions", SUPPORTED),
            )
        except AcpError as error:
            if not self._is_mirror:
                raise
            raise ConnectFailed(
                f"{self._command or connection.name} is no agent: it sends back what it is sent; "
                "give the command that starts one"
            ) from error

    async def _mirrored(self, params: object, context: RequestContext) -> None:
        """Learn that our own request came back."""
        self._is_mirror = True
        raise MethodNotFound(data={"method": context.method})

    async def _open_again(self) -> None:
        assert self._connection is not None
        await self._connection.hang_up()
        self._connection.sessions.clear()
        await self._reached.aclose()
        await self.open()

    async def close(self) -> None:
        """End the connection, and what was started for it."""
        try:
            if self._connection is not None:
                await self._connection.aclose()
        finally:
            await self._reached.aclose()
