"""Running an agent on the network: the same guards as `parley serve`, for an agent of this program.

It listens on this machine unless told otherwise, and wants a token: one of the user's, or one that
is made and kept. Each client has a connection of its own; all of them have the same principal.
The first signal lets the turns end that run, the second one ends everything at once.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from parley.errors import ConfigError
from parley.transport.http.app import stopping
from parley.transport.http.app.access import Access, warnings_about
from parley.transport.http.app.stopping import Stopping
from parley.transport.http.extra import needing_http
from parley.transport.http.server.tls import server_tls
from parley.transport.http.tokens import (
    SHORTEST,
    invitation,
    kept_token,
    read_token,
    token_path,
)

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["HttpOptions", "run_on_http"]

_OWNER = "owner"
_DRAIN_AFTER = 30.0
_LINGER = 1.0
_CUT = 130
"""The exit code after a second signal."""


class HttpOptions(TypedDict, total=False):
    """How an agent is put on the network."""

    token_file: str | Path | None
    """The token to ask for; None: one is made and kept in the state directory."""
    tls: tuple[str | Path, str | Path] | None
    """A certificate and its key, both in PEM: then it is https."""
    hosts: Sequence[str]
    """Names under which it may be asked for, besides those of this machine."""
    origins: Sequence[str]
    """Pages elsewhere that may use it, as `https://chat.example`."""
    drain_after: float
    """How many seconds the turns that run have to end when it is stopped; 30 by default."""


def run_on_http(agent: Agent, address: str, options: HttpOptions) -> None:
    """Serve until SIGINT or SIGTERM comes; a second one ends at once.

    Raises:
        ConfigError: The token or the certificate cannot be used.
        ConnectFailed: It cannot listen there, or must not; or what this needs is not installed.
    """
    try:
        stopping.run(_serve(agent, address, options))
    except asyncio.CancelledError:
        sys.exit(_CUT)


async def _serve(agent: Agent, address: str, options: HttpOptions) -> int:
    with needing_http("serving"):
        from parley.transport.http.app.serving import serve

    given = options.get("token_file")
    file = token_path() if given is None else Path(given)
    token = kept_token(file) if given is None else read_token(file, shortest=SHORTEST)
    access = Access(
        {token: _OWNER}, hosts=options.get("hosts", ()), origins=options.get("origins", ())
    )
    drain_after = options.get("drain_after", _DRAIN_AFTER)
    with Stopping(lambda is_second: _say(_ending(is_second, drain_after))) as stop:
        async with serve(agent, address, access=access, tls=_tls(options)) as serving:
            for warning in warnings_about(
                [host for host, _ in serving.addresses],
                tls="" if options.get("tls") else "tls=(certificate, key)",
                hosts="" if options.get("hosts") else "hosts=[name]",
            ):
                _say(f"warning: {warning}")
            _say(f"{agent.name} is served at {serving.url}; try it with")
            _say(f"  {invitation(serving.url, file)}")
            await stop.wait()
            await agent.drain(drain_after)
            await serving.aclose(linger_after=_LINGER)
    return 0


def _ending(is_second: bool, drain_after: float) -> str:
    if is_second:
        return "ended"
    return f"stopping; what is under way has {drain_after:g} seconds to end, Ctrl-C again ends it"


def _tls(options: HttpOptions) -> ssl.SSLContext | None:
    given = options.get("tls")
    if given is None:
        return None
    try:
        return server_tls(*given)
    except OSError as error:
        raise ConfigError(f"the certificate {given[0]} cannot be used: {error}") from error


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
