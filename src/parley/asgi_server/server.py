"""The server: listening, detecting the protocol of a connection, shutting down.

The protocol of a connection is detected from its first bytes, or negotiated with TLS (ALPN). The
protocols are in `_h1.py`, `_h2.py` and `_ws.py`, the code that they share in
`_socket_connection.py`, and all limits in `limits.py`. There is no lifespan protocol and no other
process: the application runs in this event loop.

A peer that has closed its sending side counts as disconnected.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from types import TracebackType
from typing import Self

from ._asgi_types import App
from ._h1 import H1Protocol, error_response
from ._h2 import H2Protocol
from ._h2_codec import PREFACE
from ._socket_connection import ServerState, SocketConnection
from ._tls_handshake import TlsHandshake
from .limits import ServerLimits
from .tls import offer_http

__all__ = ["Server"]

logger = logging.getLogger(__name__)

_BACKLOG = 1024
_TERMINATE_TIMEOUT = 1.0
"""The seconds for requests to end after `terminate`; at most half of the grace period."""


class _ProtocolDetector:
    """The protocol of a new connection; selects HTTP/1.1 or HTTP/2 by the first bytes."""

    __slots__ = ("_connection", "_seen", "_since")

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection
        self._seen = b""
        self._since = connection.last_active_at

    def data_received(self, data: memoryview) -> None:
        """Select the protocol as soon as the received bytes are sufficient."""
        seen = self._seen = self._seen + bytes(data)
        if seen[: len(PREFACE)] == PREFACE:
            self._connection.protocol = H2Protocol(self._connection)
        elif PREFACE.startswith(seen):
            return
        else:
            self._connection.protocol = H1Protocol(self._connection)
        self._connection.protocol.data_received(memoryview(seen))

    def flush(self) -> None:
        """Do nothing: there is nothing to send."""

    def connection_lost(self) -> None:
        """Do nothing: there is no request."""

    def tick(self, now: float) -> None:
        """Enforce the timeout for the first bytes."""
        if now - self._since >= self._connection.limits.head_timeout:
            self._connection.close()

    def drain(self) -> None:
        """Close the connection: there is no request."""
        self._connection.close()

    def terminate(self) -> None:
        """Close the connection: there is no request."""
        self._connection.close()


class _Socket(SocketConnection):
    """A socket connection that starts by detecting its protocol."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the connection, or refuse it if there are too many or the server shuts down."""
        self.protocol = _ProtocolDetector(self)
        super().connection_made(transport)
        _enable_keepalive(transport.get_extra_info("socket"), self.limits)
        tls = transport.get_extra_info("ssl_object")
        is_h2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        if (
            len(self.server_state.connections) > self.limits.connections
            or self.server_state.is_draining
        ):
            if not is_h2:
                self.write(error_response(503))
            self.close()
        elif is_h2:
            self.protocol = H2Protocol(self)


class Server:
    """A server for one ASGI application: `async with Server(app, host, port) as server: …`.

    `addresses` are the addresses that it listens on. `shutdown` closes it gracefully; leaving the
    block without it closes everything at once.
    """

    def __init__(
        self,
        app: App,
        host: str | None = "127.0.0.1",
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
        limits: ServerLimits = ServerLimits(),  # noqa: B008  a frozen value
    ) -> None:
        """Create a server that does not listen yet.

        Args:
            app: The ASGI application.
            host: The host to listen on; a name may resolve to several addresses.
            port: The port; 0 selects a free one.
            tls: The TLS context for https; the server sets its ALPN protocols.
            limits: Limits for peers.
        """
        self.addresses: list[tuple[str, int]] = []
        """The addresses and ports that it listens on, once it is open."""
        self._app = app
        self._host = host
        self._port = port
        self._tls = tls
        self._limits = limits
        self._state: ServerState | None = None
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        if self._tls is not None:
            offer_http(self._tls)
        state = ServerState(self._app, self._limits, is_tls=self._tls is not None)

        def make_protocol() -> asyncio.BaseProtocol:
            tls = self._tls
            return _Socket(state) if tls is None else TlsHandshake(state, tls, _Socket)

        self._listener = await state.loop.create_server(
            make_protocol, self._host, self._port, backlog=_BACKLOG
        )
        self._state = state
        names = [listening.getsockname() for listening in self._listener.sockets]
        self.addresses = [(name[0], name[1]) for name in names]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.shutdown(0)

    async def shutdown(self, graceful_timeout: float) -> None:
        """Accept nothing new, wait for running requests, and close all after a timeout.

        Peers are notified at once (GOAWAY, `Connection: close`), and idle connections are closed.
        Shortly before the deadline, the remaining requests are terminated: streams are reset,
        WebSockets closed with 1012.

        Args:
            graceful_timeout: The seconds until everything is closed.
        """
        state = self._state
        if state is None:
            return
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        state.is_draining = True
        for handshake in list(state.handshakes):
            handshake.abort()
        for connection in list(state.connections):
            if not connection.is_closing:
                connection.protocol.drain()
        terminate_after = min(_TERMINATE_TIMEOUT, graceful_timeout / 2)
        await _wait_until_idle(state, graceful_timeout - terminate_after)
        for connection in list(state.connections):
            if not connection.is_closing:
                connection.protocol.terminate()
        await _wait_until_idle(state, terminate_after)
        await _abort_all(state)


async def _wait_until_idle(state: ServerState, seconds: float) -> None:
    """Wait until all connections and tasks have ended, at most this many seconds."""
    try:
        async with asyncio.timeout(seconds):
            while state.connections or state.tasks:
                await state.changed.wait()
    except TimeoutError:
        pass


async def _abort_all(state: ServerState) -> None:
    """Abort the remaining connections and cancel the remaining tasks."""
    for connection in list(state.connections):
        connection.abort()
    for task in list(state.tasks):
        task.cancel()
    await _wait_until_idle(state, _TERMINATE_TIMEOUT)
    if state.tasks:
        logger.warning(
            "%d requests are still running after they were cancelled",
            len(state.tasks),
        )


def _enable_keepalive(opened: socket.socket, limits: ServerLimits) -> None:
    """Turn on TCP keepalive, to detect dead peers where our protocols cannot ping them."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "TCP_KEEPIDLE": max(1, round(limits.ping_after)),
        "TCP_KEEPINTVL": max(1, round(limits.ping_timeout / 4)),
        "TCP_KEEPCNT": 4,
        "TCP_USER_TIMEOUT": max(1, round(1000 * (limits.ping_after + limits.ping_timeout))),
    }
    for name, value in options.items():
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
