"""`connect`: from a target to a connection that is initialized."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Unpack

from parley import __version__
from parley.peer import Limits, Observer, Peer, Tracer
from parley.schema import v2
from parley.schema.version import SUPPORTED
from parley.session.surface import open_client
from parley.transport.base import MAX_MESSAGE_BYTES
from parley.transport.target import Target, open_target

from .connection import Connection
from .login import Chooser
from .offers import Offers, features_of, program_of, update_callback
from .session import Session

__all__ = ["ConnectOptions", "connect"]


class ConnectOptions(Offers, total=False):
    """How to connect, and what the program does for the agent."""

    on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None
    """Called with every update of every session, after it was folded into the transcript."""
    login: Chooser | None
    """Chooses how to log in when the agent asks for it."""
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
    on_stderr: Callable[[bytes], None] | None
    """Called with each piece that it writes to stderr."""
    grace_after: float
    """How long each step of ending it may take."""
    max_message_bytes: int
    """How long a message may be."""
    limits: Limits | None
    """What the connection may hold."""
    observer: Observer | None
    """Sees each frame, in both directions."""
    tracer: Tracer | None
    """Takes part in distributed tracing."""


def connect(
    target: Target, cwd: str | Path = ".", **options: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[Connection]:
    """Reach an agent and initialize the connection, which lasts as long as the block.

    Args:
        target: An agent object, a command line (a string, or a list of arguments), or a transport.
        cwd: Where the agent is started and where its sessions work unless told otherwise.
        options: See `ConnectOptions`.

    Raises:
        ConnectFailed: The agent cannot be reached or started.
        ConnectionClosed: It has gone before it was initialized; `ProcessExited` tells how.
        VersionMismatch: It speaks no version of the protocol that we do.
        RequestError: It refused to be initialized.
    """
    return _connected(target, Path(cwd).absolute(), options)


@asynccontextmanager
async def _connected(
    target: Target, cwd: Path, options: ConnectOptions
) -> AsyncGenerator[Connection]:
    async with open_target(
        target,
        cwd=cwd,
        env=options.get("env"),
        inherit=options.get("inherit", ()),
        on_stderr=options.get("on_stderr"),
        grace_after=options.get("grace_after", 2.0),
        max_message_bytes=options.get("max_message_bytes", MAX_MESSAGE_BYTES),
    ) as transport:
        peer = Peer(
            transport,
            "client",
            name=options.get("name", ""),
            limits=options.get("limits"),
            observer=options.get("observer"),
            tracer=options.get("tracer"),
            skips_noise=True,
        )
        connection = Connection(peer, cwd, options.get("login"))
        connection.on_update = update_callback(options.get("on_update"))
        async with _initialized(connection, options):
            yield connection


@asynccontextmanager
async def _initialized(connection: Connection, options: ConnectOptions) -> AsyncGenerator[None]:
    connection.peer.start()
    try:
        surface = await open_client(
            connection.peer,
            info=options.get("info") or v2.Implementation(name="parley", version=__version__),
            features=features_of(options),
            program=program_of(connection, options),
            versions=options.get("versions", SUPPORTED),
        )
        connection.begin(surface)
        yield
    finally:
        await connection.aclose()
