"""An agent on the network, run by `parley.asgi_server`: `async with serve(agent, …)`."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server
from parley.errors import ConnectFailed
from parley.transport._target import Servable

from .access import Access
from .app import HttpApp
from .health import HealthMiddleware
from .limits import AppLimits

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^:\[\]/]+):([0-9]{1,5})")
_WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
_LISTEN_ERRORS = {
    errno.EADDRINUSE: "the address is already in use",
    errno.EADDRNOTAVAIL: "it is not an address of this machine",
}


class Serving:
    """An agent that is being served, from `serve`.

    `url` is the address for clients; `aclose` ends all connections and the server.
    """

    def __init__(self, app: HttpApp, server: Server, *, is_tls: bool) -> None:
        self.app = app
        """The application; its `connections` are those of the clients."""
        self.addresses = server.addresses
        """The addresses and ports that it listens on."""
        self._server = server
        self._scheme = "https" if is_tls else "http"

    @property
    def url(self) -> str:
        """The URL of the agent; replace `http` by `ws` for a WebSocket."""
        host, port = self.addresses[0]
        shown = _WILDCARD_HOSTS.get(host) or (f"[{host}]" if ":" in host else host)
        return f"{self._scheme}://{shown}:{port}/acp"

    async def aclose(self, grace_after: float = 2.0, linger_after: float = 0.0) -> None:
        """End all connections, notifying every client, and then the server.

        Args:
            grace_after: The seconds that each of the two steps may take.
            linger_after: The seconds to keep responding to clients that reconnect, to report that
                their connections are gone.
        """
        has_clients = bool(len(self.app.connections))
        await self.app.aclose(grace_after)
        if has_clients:
            await asyncio.sleep(linger_after)
        await self._server.shutdown(grace_after)


@asynccontextmanager
async def serve(
    host: Servable,
    address: str,
    *,
    access: Access,
    limits: AppLimits | None = None,
    server_limits: ServerLimits | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[Serving]:
    """Serve an agent at `/acp`, over HTTP and WebSocket, while the block runs; also `/healthz`.

    Args:
        host: The agent.
        address: The address to listen on, such as `127.0.0.1:7400`; port 0 selects a free port.
        access: The access rules.
        limits: Limits of the application.
        server_limits: Limits of the server.
        tls: The TLS context for https; None for http.

    Raises:
        ConnectFailed: It cannot listen on this address, or must not, because everybody would have
            access.
    """
    name, port = parse_address(address)
    access.check_address(name)
    app = HttpApp(host, access=access, limits=limits)
    server = Server(
        HealthMiddleware(app, access), name, port, tls=tls, limits=server_limits or ServerLimits()
    )
    try:
        await server.__aenter__()
    except OSError as error:
        reason = describe_listen_error(error)
        raise ConnectFailed(f"cannot listen on {address}: {reason}") from error
    serving = Serving(app, server, is_tls=tls is not None)
    try:
        for found, _ in server.addresses:  # a name may resolve to more than loopback
            access.check_address(found)
        yield serving
    finally:
        await serving.aclose()


def parse_address(address: str) -> tuple[str, int]:
    """Return the host and the port of `HOST:PORT`.

    Raises:
        ConnectFailed: The address has another form.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found[2]) > 65535:
        raise ConnectFailed(
            f"{address!r} is not an address to listen on; write it as 127.0.0.1:7400"
        )
    return found[1].strip("[]"), int(found[2])


def describe_listen_error(error: OSError) -> str:
    """Return the reason why an address cannot be listened on, without the address."""
    if isinstance(error, socket.gaierror):
        return "the host name does not exist"
    known = _LISTEN_ERRORS.get(error.errno or 0)
    return known or (os.strerror(error.errno) if error.errno else str(error))
