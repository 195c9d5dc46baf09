"""Running an agent on the network: the same guards as `parley serve`, for an agent of this program.

It listens on this machine unless told otherwise, and wants a token: one of the user's, or one that
is made and kept. Each client has a connection of its own; all of them have the same principal.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from parley.errors import ConfigError, ConnectFailed
from parley.transport.http import stopping
from parley.transport.http.access import Access
from parley.transport.http.stopping import Stopping
from parley.transport.http.tls import server_tls
from parley.transport.http.tokens import (
    SHORTEST,
    invitation,
    kept_token,
    read_token,
    token_path,
)
from parley.transport.target import Servable

__all__ = ["HttpOptions", "run_on_http"]

_OWNER = "owner"
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


def run_on_http(agent: Servable, name: str, address: str, options: HttpOptions) -> None:
    """Serve until SIGINT or SIGTERM comes; a second one ends at once.

    Raises:
        ConfigError: The token or the certificate cannot be used.
        ConnectFailed: It cannot listen there, or must not; or what this needs is not installed.
    """
    try:
        stopping.run(_serve(agent, name, address, options))
    except ModuleNotFoundError as error:
        raise ConnectFailed(
            f"{error.name} is not installed, which serving needs: pip install parley-acp[http]"
        ) from error
    except asyncio.CancelledError:
        sys.exit(_CUT)


async def _serve(agent: Servable, name: str, address: str, options: HttpOptions) -> int:
    from parley.transport.http.serving import serve

    given = options.get("token_file")
    file = token_path() if given is None else Path(given)
    token = kept_token(file) if given is None else read_token(file, shortest=SHORTEST)
    access = Access(
        {token: _OWNER}, hosts=options.get("hosts", ()), origins=options.get("origins", ())
    )
    with Stopping(lambda is_second: _say("ended" if is_second else "stopping")) as stop:
        async with serve(agent, address, access=access, tls=_tls(options)) as serving:
            _say(f"{name} is served at {serving.url}; try it with")
            _say(f"  {invitation(serving.url, file)}")
            await stop.wait()
    return 0


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
