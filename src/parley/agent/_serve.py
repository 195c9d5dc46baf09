"""`serve`: serve an agent from inside a program, on the network or on stdio.

`Agent.run` does the same for a program that is nothing but an agent: it also runs the event loop,
handles signals, and prints how to connect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from parley._suggestions import suggests_options
from parley.errors import ConfigError
from parley.transport._stdio import StdioTransport
from parley.transport._target import Servable
from parley.transport.http._app.access import Access, warnings_about
from parley.transport.http._extra import require_http_extra
from parley.transport.http._tokens import MIN_LENGTH, load_or_create_token, read_token

from ._agent import Agent
from ._http_access import load_tls

logger = logging.getLogger(__name__)


@suggests_options
async def serve(  # noqa: PLR0913 - one argument, and the options of a server
    agent: Servable,
    *,
    http: str | None = None,
    token: str | None = None,
    token_file: str | Path | None = None,
    tls: tuple[str | Path, str | Path] | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    allow_local_servers: bool = False,
    on_ready: Callable[[str], object] | None = None,
) -> None:
    """Serve an agent until this call is cancelled, beside the other tasks of a program.

        async with asyncio.TaskGroup() as group:
            group.create_task(parley.serve(agent, http="127.0.0.1:7400", token=token))
            group.create_task(my_own_work())

    With `http`, HTTP and WebSocket clients find the agent at `/acp` of this address, as many as
    come. Each has a connection of its own. A session belongs to one client at a time: if a second
    client resumes it, it is closed for the first one, and its running turn is cancelled. Use
    `parley serve`, or the `Gateway` of `parley.gateway`, to share a session between clients.

    Without `http`, the client is the program that started this one, on stdin and stdout. The call
    returns when it disconnects. This works once per process, and `print` writes to stderr from
    then on.

    Cancelling closes all connections; running turns are cancelled. No signals are handled; use
    `agent.run(http=…)` for a program that is nothing but an agent.

    Args:
        agent: An `Agent`, a `Conductor`, or any other object with `serve(transport)`.
        http: The address to listen on, such as `127.0.0.1:7400`; port 0 selects a free port.
        token: The token that clients need, of at least 16 characters.
        token_file: A file with the token. Without `token` and `token_file` it is the token of
            `parley serve`, in the user's state directory, which is generated if it does not exist.
        tls: The PEM files of a certificate and its key, to serve HTTPS.
        hosts: Host names to accept requests for, besides those of this machine.
        origins: Origins of web pages that may connect, such as `https://chat.example`.
        allow_local_servers: Whether clients may name commands and local addresses as MCP servers
            and providers.
        on_ready: Called with the URL for clients, once it can be used.

    Raises:
        ConfigError: The token or the certificate cannot be used.
        ConnectFailed: Listening on the address failed or is not allowed, the HTTP extra is not
            installed, or this process has no stdin or stdout.
        TypeError: The object cannot be served, `token` and `token_file` are both given, or an
            option is given that needs `http`.
    """
    if not callable(getattr(agent, "serve", None)):
        raise TypeError(f"serve() takes an agent, not {type(agent).__name__}")
    if http is None:
        options = (token, token_file, tls, hosts, origins, allow_local_servers, on_ready)
        if any(options):
            raise TypeError("serve() takes other options only with http=")
        await _serve_stdio(agent)
        return
    with require_http_extra("serving"):
        from parley.transport.http._app import serving as http_serving

    access = Access(
        {_token(token, token_file): "owner"},
        hosts=hosts,
        origins=origins,
        allow_local_servers=allow_local_servers,
    )
    async with http_serving.serve(agent, http, access=access, tls=load_tls(tls)) as serving:
        for warning in warnings_about(
            [host for host, _ in serving.addresses],
            tls="" if tls else "tls=(certificate, key)",
            hosts="" if hosts else "hosts=[name]",
        ):
            logger.warning("%s: %s", serving.url, warning)
        if on_ready is not None:
            on_ready(serving.url)
        await asyncio.get_running_loop().create_future()  # until this task is cancelled


async def _serve_stdio(agent: Servable) -> None:
    transport = StdioTransport()
    try:
        if isinstance(agent, Agent):
            # A private method of the same package: the process may end with its only client.
            await agent._serve_only_client(transport)  # pyright: ignore[reportPrivateUsage]
        else:
            await agent.serve(transport)
    finally:
        await transport.aclose()


def _token(token: str | None, token_file: str | Path | None) -> str:
    """Return the token that clients need.

    Raises:
        ConfigError: It is too short, or the file cannot be used.
        TypeError: There are two.
    """
    if token is not None and token_file is not None:
        raise TypeError("serve() takes token= or token_file=, not both")
    if token_file is not None:
        return read_token(Path(token_file), min_length=MIN_LENGTH)
    if token is None:
        return load_or_create_token()
    if len(token) < MIN_LENGTH:
        raise ConfigError(f"token= must have at least {MIN_LENGTH} characters")
    return token
