"""An agent on the network, with the server of ours: `async with serve(agent, …)`."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from parley.errors import ConnectFailed
from parley.transport.http.limits import ServerLimits
from parley.transport.http.server.server import Server
from parley.transport.target import Servable

from .access import Access
from .app import HttpApp
from .health import WithHealth
from .limits import AppLimits

__all__ = ["Serving", "parse_address", "serve", "why_not"]

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%a-z]+\]|[^:\[\]/]+):([0-9]{1,5})")
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
_WHY_NOT = {
    errno.EADDRINUSE: "something else listens there",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}


class Serving:
    """An agent that is being served."""

    def __init__(self, app: HttpApp, server: Server, *, is_tls: bool) -> None:
        self.app = app
        """What answers; its `connections` are those of the clients."""
        self.addresses = server.addresses
        """Where it listens."""
        self._server = server
        self._scheme = "https" if is_tls else "http"

    @property
    def url(self) -> str:
        """Where clients find the agent; with `ws` for `http` it is the same on a WebSocket."""
        host, port = self.addresses[0]
        shown = _ANYWHERE.get(host) or (f"[{host}]" if ":" in host else host)
        return f"{self._scheme}://{shown}:{port}/acp"

    async def aclose(self, grace_after: float = 2.0, linger_after: float = 0.0) -> None:
        """End all connections, so that every client knows, and then the server.

        Args:
            grace_after: How many seconds each of the two may take.
            linger_after: So long clients that come back are still told that there is no way back.
        """
        has_clients = bool(len(self.app.connections))
        await self.app.aclose(grace_after)
        if has_clients:
            await asyncio.sleep(linger_after)
        await self._server.drain(grace_after)


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
    """Serve an agent at `/acp`, by HTTP and WebSocket, while the block runs; also `/healthz`.

    Args:
        host: The agent.
        address: Where to listen, as `127.0.0.1:7400`; port 0 is any that is free.
        access: Who gets in.
        limits: What the application holds at most.
        server_limits: What the server does.
        tls: How to be https.

    Raises:
        ConnectFailed: It cannot listen there, or must not, because everybody would get in.
    """
    name, port = parse_address(address)
    access.check_address(name)
    app = HttpApp(host, access=access, limits=limits)
    front = WithHealth(app, access)
    server = Server(front, name, port, tls=tls, limits=server_limits or ServerLimits())
    try:
        await server.__aenter__()
    except OSError as error:
        raise ConnectFailed(f"{address} cannot be listened on: {why_not(error)}") from error
    serving = Serving(app, server, is_tls=tls is not None)
    try:
        for found, _ in server.addresses:  # a name may be more than it seems
            access.check_address(found)
        yield serving
    finally:
        await serving.aclose()


def parse_address(address: str) -> tuple[str, int]:
    """Return the host and the port of `HOST:PORT`.

    Raises:
        ConnectFailed: It is something else.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or int(found[2]) > 65535:
        raise ConnectFailed(f"{address!r} is no address to listen on; give 127.0.0.1:7400")
    return found[1].strip("[]"), int(found[2])


def why_not(error: OSError) -> str:
    """Return why an address cannot be listened on, without saying the address again."""
    if isinstance(error, socket.gaierror):
        return "there is no such host"
    known = _WHY_NOT.get(error.errno or 0)
    return known or (os.strerror(error.errno) if error.errno else str(error))
