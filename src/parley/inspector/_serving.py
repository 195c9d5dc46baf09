"""Serving the page on loopback, for one user, as long as the block runs."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import quote

from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server
from parley.errors import ConnectFailed
from parley.transport.http._app.serving import describe_listen_error

from ._app import InspectorApp
from ._library import Library

_HOST = "127.0.0.1"
_LIMITS = ServerLimits(connections=256, body_bytes=64 * 1024)


@asynccontextmanager
async def serve(library: Library, *, port: int = 0, key: str | None = None) -> AsyncGenerator[str]:
    """Serve the page; yields its URL, which has the token.

    Args:
        library: The recordings.
        port: The port; 0 selects a free one.
        key: The recording that the page shows first.

    Raises:
        ConnectFailed: It cannot listen on this port.
    """
    token = secrets.token_urlsafe(32)
    server = Server(InspectorApp(library, token), _HOST, port, limits=_LIMITS)
    try:
        await server.__aenter__()
    except OSError as error:
        reason = describe_listen_error(error)
        raise ConnectFailed(f"cannot listen on {_HOST}:{port}: {reason}") from error
    try:
        query = f"?recording={quote(key)}" if key else ""
        yield f"http://{_HOST}:{server.addresses[0][1]}/{query}#{token}"
    finally:
        await server.shutdown(0)
        library.close()
