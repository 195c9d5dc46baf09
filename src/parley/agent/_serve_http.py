"""Serving an agent of this program on the network, with the same protections as `parley serve`.

Clients need a token: one that the user provides, or one that is generated and kept. Each client has
its own connection; all of them have the same principal. The first signal lets running turns end,
the second one ends everything at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from parley.transport.http._app import graceful_shutdown as stopping
from parley.transport.http._app.access import warnings_about
from parley.transport.http._app.graceful_shutdown import GracefulShutdown
from parley.transport.http._extra import require_http_extra
from parley.transport.http._tokens import example_command

from ._http_access import DRAIN_AFTER, AccessOptions, access_from, load_tls, token_from_file

if TYPE_CHECKING:
    from ._agent import Agent


_LINGER_AFTER = 1.0
_EXIT_INTERRUPTED = 130
"""The exit code after a second signal."""


class HttpOptions(AccessOptions, total=False):
    """Options of `Agent.run` for serving HTTP and WebSocket clients."""

    tls: tuple[str | Path, str | Path] | None
    """The PEM files of a certificate and its key, to serve HTTPS."""


def run_on_http(
    agent: Agent,
    address: str,
    options: HttpOptions,
    *,
    drained: Callable[[float], AbstractAsyncContextManager[None]],
) -> None:
    """Serve an agent on an address until SIGINT or SIGTERM; a second signal exits at once.

    Raises:
        ConfigError: The token or the certificate cannot be used.
        ConnectFailed: Listening on the address failed or is not allowed, or the HTTP extra is not
            installed.
    """
    try:
        stopping.run(_serve(agent, address, options, drained))
    except asyncio.CancelledError:
        sys.exit(_EXIT_INTERRUPTED)


async def _serve(
    agent: Agent,
    address: str,
    options: HttpOptions,
    drained: Callable[[float], AbstractAsyncContextManager[None]],
) -> int:
    with require_http_extra("serving"):
        from parley.transport.http._app.serving import serve

    file, token = token_from_file(options)
    access = access_from(options, [token])
    tls = load_tls(options.get("tls"))
    drain_after = options.get("drain_after", DRAIN_AFTER)
    with GracefulShutdown(lambda is_second: _print(_stop_message(is_second, drain_after))) as stop:
        async with serve(agent, address, access=access, tls=tls) as serving:
            for warning in warnings_about(
                [host for host, _ in serving.addresses],
                tls="" if options.get("tls") else "tls=(certificate, key)",
                hosts="" if options.get("hosts") else "hosts=[name]",
            ):
                _print(f"warning: {warning}")
            _print(f"{agent.name} is served at {serving.url}; try it with")
            _print(f"  {example_command(serving.url, file)}")
            await stop.wait()
            async with drained(drain_after):
                await serving.aclose(linger_after=_LINGER_AFTER)
    return 0


def _stop_message(is_second: bool, drain_after: float) -> str:
    if is_second:
        return "ended"
    return f"Stopping: running turns have {drain_after:g} seconds to end. Ctrl-C ends them at once."


def _print(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
