"""Targets: what a user can name as an agent, and how to open a transport to it.

A target is an agent in this process (any object with `serve(transport)`), a command line as a
string or a list, the URL of a remote agent, recognized by its scheme, or an existing transport.
Configured names are resolved to one of these earlier. A command line that begins with `parley`
starts this installation of Parley, not one found on PATH.
"""

from __future__ import annotations

import hashlib
import json
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

from parley._interpreter import replace_parley
from parley._task_owner import TaskOwner
from parley._user_code import reraise_if_ending
from parley.errors import ConnectFailed

from ._base import MAX_MESSAGE_BYTES, Transport
from ._memory import memory_pair
from ._process import ProcessTransport

if TYPE_CHECKING:
    from .http._client.address import OnState, RemoteOptions


logger = logging.getLogger(__name__)

_END_GRACE = 2.0
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HTTP = ("http", "https")
_WEBSOCKET = ("ws", "wss")
_SCRIPT_ENDINGS = frozenset({".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".jar"})
"""The suffixes of files that an interpreter runs."""


@runtime_checkable
class Servable(Protocol):
    """An agent in this process."""

    async def serve(self, transport: Transport, /) -> None:
        """Serve one connection until it ends."""
        ...


Target: TypeAlias = Servable | Transport | str | Sequence[str]
"""The types of target that `open_target` accepts."""


class ProcessOptions(TypedDict, total=False):
    """Options for starting an agent; see `ProcessTransport.spawn`."""

    cwd: str | Path | None
    env: Mapping[str, str] | None
    inherit: Iterable[str]
    on_stderr: Callable[[bytes], object] | None
    grace_after: float
    max_message_bytes: int


class TargetOptions(ProcessOptions, total=False):
    """Options for connecting to an agent, whether it is started as a process or is remote."""

    token: str | None
    """Sent to a remote agent with each request; see `http/_client/address.py`."""
    headers: Mapping[str, str]
    """Additional headers of each request."""
    ca_file: str | Path | None
    """Certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None
    """The TLS context; `ca_file` is then ignored."""
    allows_plain_token: bool
    """Whether a token may be sent to another machine without TLS."""
    on_state: OnState | None
    """Called as `on_state(state, reason)` when the remote side is away, back, or given up on."""


@asynccontextmanager
async def open_target(
    target: Target, **options: Unpack[TargetOptions]
) -> AsyncGenerator[Transport]:
    """Open a transport to an agent for the duration of the block.

    At the end of the block the transport is closed, and a process that was started is ended.

    Args:
        target: The agent.
        options: Options for starting a command or for connecting to a remote agent.

    Raises:
        ConnectFailed: The agent cannot be reached; the message says what to do.
    """
    if isinstance(target, Servable):
        async with _serving(target) as transport:
            yield transport
        return
    if isinstance(target, str) and is_remote(target):
        transport = await _remote(target, options)
    elif isinstance(target, str | Sequence):
        command = command_to_start(_command(target), options.get("cwd"))
        transport = await ProcessTransport.spawn(command, **_process(options))
    elif _is_transport(target):
        transport = target
    else:
        raise ConnectFailed(
            f"cannot connect to {type(target).__name__}; pass a command, a URL, or an object with "
            "serve()"
        )
    try:
        yield transport
    finally:
        await transport.aclose()


async def _remote(url: str, options: TargetOptions) -> Transport:
    """Open a transport to a remote agent; this needs the HTTP extra."""
    from .http._extra import require_http_extra

    with require_http_extra("a remote agent"):
        from .http._client.http_transport import HttpTransport
        from .http._client.websocket_transport import WebSocketTransport
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
    """Return the options that concern a child process."""
    known = ProcessOptions.__annotations__
    return cast(ProcessOptions, {name: value for name, value in options.items() if name in known})


@asynccontextmanager
async def _serving(agent: Servable) -> AsyncGenerator[Transport]:
    """Run an agent of this process on one end of a memory pair, and yield the other end."""
    ours, theirs = memory_pair()
    tasks = TaskOwner("an agent in this process")
    tasks.create_task(_serve(agent, theirs))
    try:
        yield ours
    finally:
        await ours.aclose()
        await tasks.wait(_END_GRACE)
        await tasks.aclose(_END_GRACE)


async def _serve(agent: Servable, transport: Transport) -> None:
    try:
        await agent.serve(transport)
    except BaseException as error:  # raised by the program; nothing awaits this task
        reraise_if_ending(error)
        logger.exception("the agent in this process failed; closing its connection")
    finally:
        await transport.aclose()


def command_of(target: Target) -> Sequence[str] | None:
    """Return the argument vector of a target that is a command; None for other targets.

    Raises:
        ConnectFailed: The command line cannot be parsed.
    """
    if isinstance(target, str) and is_remote(target):
        return None
    return _command(target) if isinstance(target, str | Sequence) else None


def command_to_start(command: Sequence[str], cwd: str | Path | None) -> Sequence[str]:
    """Return the command to start in a directory, with the paths in it that must not be read there.

    A person who types `python agent.py` means the file in front of them, not one in the directory
    that the agent works in, which may even be another user's. So a relative path of the program,
    and that of its script, are resolved against our current directory. Other arguments are the
    agent's: only it knows which of them are paths.

    Args:
        command: The program and its arguments.
        cwd: The directory where it is started; None for our current one.
    """
    command = replace_parley(command)
    here = Path.cwd()
    if not command or cwd is None or Path(cwd).absolute() == here:
        return command
    words = list(command)
    if "/" in words[0]:
        words[0] = str(here / words[0])
    for place, word in enumerate(words[1:], 1):
        if Path(word).suffix in _SCRIPT_ENDINGS:
            if (here / word).is_file():
                words[place] = str(here / word)
            break
    return words


def target_identity(target: Target, name: str = "") -> str:
    """Return a string that identifies an agent across connections; empty for an object.

    Two agents are the same if they have the same command line or URL, and the same configured
    name. The result is a digest, because a command line or URL may contain a secret.

    Args:
        target: The agent.
        name: Its name in the user's configuration, if it has one.

    Raises:
        ConnectFailed: The command line cannot be parsed.
    """
    command = command_of(target)
    if command is None and not isinstance(target, str):
        return ""
    identity = ["address", target] if command is None else ["command", *command]
    return hashlib.sha256(json.dumps([name, identity]).encode()).hexdigest()[:32]


def is_remote(target: str) -> bool:
    """Return whether a target is the URL of a remote agent."""
    return _scheme(target) in (*_HTTP, *_WEBSOCKET)


def is_on_other_host(target: str) -> bool:
    """Return whether an agent is on another machine, and so cannot access this one."""
    if not is_remote(target):
        return False
    try:
        host = urlsplit(target).hostname or ""
        return host != "localhost" and not ip_address(host).is_loopback
    except ValueError:  # a host name rather than an IP address
        return True


def _scheme(target: str) -> str:
    """Return the scheme of a URL, in lower case; empty for a command line."""
    url = _URL.match(target)
    return "" if url is None else url[1].lower()


def _is_transport(target: object) -> bool:
    return all(hasattr(target, name) for name in ("start", "send", "drained", "aclose"))


def _command(target: str | Sequence[str]) -> Sequence[str]:
    """Return the argument vector of a command line, which never passes through a shell."""
    if not isinstance(target, str):
        return target
    if scheme := _scheme(target):
        raise ConnectFailed(
            f"{scheme}:// is not supported; use http://, https://, ws://, wss:// or a command that "
            "starts the agent"
        )
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise ConnectFailed(f"the command line cannot be parsed: {str(error).lower()}") from error
    if not command:
        raise ConnectFailed("no command to start: the command line is empty")
    return command
