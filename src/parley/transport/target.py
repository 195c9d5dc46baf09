"""From what a user calls an agent to a transport that reaches it.

A target is an agent in this process (anything with `serve(transport)`), a command line, as one
string or as a list, an address of a remote agent, known by its scheme, or a transport that is there
already. Names from a configuration are turned into one of these before.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
import ssl
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypedDict, Unpack, cast, runtime_checkable
from urllib.parse import urlsplit

from parley.errors import ConnectFailed

from .base import MAX_MESSAGE_BYTES, Transport
from .memory import memory_pair
from .process import ProcessTransport

if TYPE_CHECKING:
    from .http.client.address import OnState, RemoteOptions

__all__ = [
    "ProcessOptions",
    "Servable",
    "Target",
    "TargetOptions",
    "command_of",
    "is_elsewhere",
    "is_remote",
    "open_target",
]

logger = logging.getLogger(__name__)

_END_GRACE = 2.0
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HTTP = ("http", "https")
_WEBSOCKET = ("ws", "wss")


@runtime_checkable
class Servable(Protocol):
    """An agent that lives in this process."""

    async def serve(self, transport: Transport, /) -> None:
        """Talk over a transport until the connection ends."""
        ...


Target: TypeAlias = Servable | Transport | str | Sequence[str]
"""What `open_target` understands."""


class ProcessOptions(TypedDict, total=False):
    """How an agent is started; see `ProcessTransport.spawn`."""

    cwd: str | Path | None
    env: Mapping[str, str] | None
    inherit: Iterable[str]
    on_stderr: Callable[[bytes], None] | None
    grace_after: float
    max_message_bytes: int


class TargetOptions(ProcessOptions, total=False):
    """How an agent is reached: started, if it is a command, or spoken to over the network."""

    token: str | None
    """Goes to a remote agent with each request; see `http/client/address.py`."""
    headers: Mapping[str, str]
    """Further headers of each request."""
    ca_file: str | Path | None
    """Certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """How TLS is done; then `ca_file` is not looked at."""
    allows_plain_token: bool
    """Whether a token may go to another machine without TLS."""
    on_state: OnState | None
    """Is told when the remote side is away, is back, or is given up: `see(state, reason)`."""


@asynccontextmanager
async def open_target(
    target: Target, **options: Unpack[TargetOptions]
) -> AsyncGenerator[Transport]:
    """Reach an agent for as long as the block runs; what was started for it ends with the block.

    Args:
        target: The agent.
        options: How to start it, if it is a command; how to speak to it, if it is remote.

    Raises:
        ConnectFailed: It cannot be reached; the text says what to do.
    """
    if isinstance(target, Servable):
        async with _serving(target) as transport:
            yield transport
        return
    if isinstance(target, str) and is_remote(target):
        transport = await _remote(target, options)
    elif isinstance(target, str | Sequence):
        transport = await ProcessTransport.spawn(_command(target), **_process(options))
    elif _is_transport(target):
        transport = target
    else:
        raise ConnectFailed(
            f"{type(target).__name__} is no target: give a command, or an object with serve()"
        )
    try:
        yield transport
    finally:
        await transport.aclose()


async def _remote(url: str, options: TargetOptions) -> Transport:
    """Reach a remote agent; the libraries for that are an extra."""
    from .http.extra import needing_http

    with needing_http("a remote agent"):
        from .http.client.streamable import HttpTransport
        from .http.client.websocket import WebSocketTransport
    remote: RemoteOptions = {
        "token": options.get("token"),
        "headers": options.get("headers", {}),
        "ca_file": options.get("ca_file"),
        "tls": options.get("tls"),
        "allows_plain_token": options.get("allows_plain_token", False),
        "on_state": options.get("on_state"),
        "max_message_bytes": options.get("max_message_bytes", MAX_MESSAGE_BYTES),
    }
    if _scheme(url) in _HTTP:
        return await HttpTransport.open(url, **remote)
    return await WebSocketTransport.open(url, **remote)


def _process(options: TargetOptions) -> ProcessOptions:
    known = ProcessOptions.__annotations__
    return cast(ProcessOptions, {name: value for name, value in options.items() if name in known})


@asynccontextmanager
async def _serving(agent: Servable) -> AsyncGenerator[Transport]:
    """Have an agent of this process serve the other end of a pair."""
    near, far = memory_pair()
    task = asyncio.create_task(_serve(agent, far))
    try:
        yield near
    finally:
        await near.aclose()
        await asyncio.wait({task}, timeout=_END_GRACE)
        task.cancel()
        await asyncio.wait({task}, timeout=_END_GRACE)


async def _serve(agent: Servable, transport: Transport) -> None:
    try:
        await agent.serve(transport)
    except Exception:  # of the program: nobody awaits this task
        logger.exception("the agent in this process failed; its connection ends")
    finally:
        await transport.aclose()


def command_of(target: Target) -> Sequence[str] | None:
    """Return the argument vector of a target that is a command; None for any other.

    Raises:
        ConnectFailed: It is a command line that cannot be read.
    """
    if isinstance(target, str) and is_remote(target):
        return None
    return _command(target) if isinstance(target, str | Sequence) else None


def is_remote(target: str) -> bool:
    """Tell whether a target is the address of a remote agent."""
    return _scheme(target) in (*_HTTP, *_WEBSOCKET)


def is_elsewhere(target: str) -> bool:
    """Tell whether an agent is on another machine: then it reaches nothing that is on this one."""
    if not is_remote(target):
        return False
    try:
        host = urlsplit(target).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a name
        return True


def _scheme(target: str) -> str:
    """Return the scheme of an address, in lower case; empty for a command line."""
    url = _URL.match(target)
    return "" if url is None else url[1].lower()


def _is_transport(target: object) -> bool:
    return all(hasattr(target, name) for name in ("start", "send", "drained", "aclose"))


def _command(target: str | Sequence[str]) -> Sequence[str]:
    """Return the argument vector of a command line; no shell ever sees it."""
    if not isinstance(target, str):
        return target
    if scheme := _scheme(target):
        raise ConnectFailed(
            f"agents behind {scheme}:// cannot be reached; give http://, https://, ws://, wss:// "
            "or a command that starts one"
        )
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise ConnectFailed(f"the command line cannot be read: {str(error).lower()}") from error
    if not command:
        raise ConnectFailed("there is no command to start: the command line is empty")
    return command
