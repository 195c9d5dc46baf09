"""The TLS handshake of an accepted connection, which is counted and has a timeout from the start.

asyncio would report a connection only after its handshake; until then, no limit would apply to it.
So the connection is accepted without TLS, and handed to asyncio again as an accepted socket before
any byte of it is read.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from ._socket_connection import ServerState, SocketConnection


class TlsHandshake(asyncio.Protocol):
    """A connection whose handshake is in progress; later a `SocketConnection` takes over."""

    def __init__(
        self,
        server_state: ServerState,
        tls: ssl.SSLContext,
        make_connection: Callable[[ServerState], SocketConnection],
    ) -> None:
        self._server_state = server_state
        self._tls = tls
        self._make_connection = make_connection
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the handshake, or drop the connection if there are too many."""
        server_state, taken = self._server_state, transport.get_extra_info("socket")
        if not server_state.is_full and not server_state.is_draining:
            own = socket.socket(fileno=os.dup(taken.fileno()))
            server_state.handshakes.add(self)
            self._task = server_state.spawn(self._do_handshake(own))
        cast("asyncio.Transport", transport).abort()  # uvloop's is not a subclass

    def abort(self) -> None:
        """Cancel the handshake and drop the connection."""
        if self._task is not None:
            self._task.cancel()

    async def _do_handshake(self, own: socket.socket) -> None:
        limits = self._server_state.limits
        own.setblocking(False)
        try:
            with suppress(OSError):  # not TLS, too slow, or disconnected
                await self._server_state.loop.connect_accepted_socket(
                    lambda: self._make_connection(self._server_state),
                    own,
                    ssl=self._tls,
                    ssl_handshake_timeout=limits.head_timeout,
                    ssl_shutdown_timeout=limits.close_timeout,
                )
        finally:
            self._server_state.handshakes.discard(self)
