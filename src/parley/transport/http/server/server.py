"""A server for ASGI applications on asyncio: HTTP/1.1, HTTP/2 and WebSocket on one port.

What a connection speaks shows in its first bytes, or was agreed on with TLS (ALPN). The fronts are
`h1.py`, `h2.py` and `ws.py`; what they share is `wire.py`; every bound is in
`limits.py`. There is no lifespan protocol, and no other process: the application is in this loop.

A peer that has closed its sending side is taken for gone.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from types import TracebackType
from typing import Self

from parley.transport.http.asgi_types import App
from parley.transport.http.codec_h2 import PREFACE
from parley.transport.http.limits import ServerLimits

from .h1 import H1Front, refusal
from .h2 import H2Front
from .handshake import Handshake
from .tls import offer_http
from .wire import Service, Wire

__all__ = ["Server"]

logger = logging.getLogger(__name__)

_BACKLOG = 1024
_LAST_SECONDS = 1.0
"""How long what was cut has to end; of a shorter grace it is half."""


class _Opening:
    """The front of a connection whose protocol is not known yet."""

    __slots__ = ("_seen", "_since", "_wire")

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._seen = b""
        self._since = wire.heard_at

    def received(self, data: memoryview) -> None:
        """Choose, as soon as the bytes tell."""
        seen = self._seen = self._seen + bytes(data)
        if seen[: len(PREFACE)] == PREFACE:
            self._wire.front = H2Front(self._wire)
        elif PREFACE.startswith(seen):
            return
        else:
            self._wire.front = H1Front(self._wire)
        self._wire.front.received(memoryview(seen))

    def pump(self) -> None:
        """Have nothing to send."""

    def lost(self) -> None:
        """Have nobody to tell."""

    def tick(self, now: float) -> None:
        """Do not wait for ever."""
        if now - self._since >= self._wire.limits.head_timeout:
            self._wire.finish()

    def drain(self) -> None:
        """Close: nothing has been asked."""
        self._wire.finish()

    def cut(self) -> None:
        """Close: nothing has been asked."""
        self._wire.finish()


class _Socket(Wire):
    """A wire that begins with the choice of its front."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket over, unless there are too many."""
        self.front = _Opening(self)
        super().connection_made(transport)
        _tune(transport.get_extra_info("socket"), self.limits)
        tls = transport.get_extra_info("ssl_object")
        is_h2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        if len(self.service.wires) > self.limits.connections or self.service.is_draining:
            if not is_h2:
                self.write(refusal(503))
            self.finish()
        elif is_h2:
            self.front = H2Front(self)


class Server:
    """Runs an ASGI application; `async with` opens it and closes it."""

    def __init__(
        self,
        app: App,
        host: str | None = "127.0.0.1",
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
        limits: ServerLimits = ServerLimits(),  # noqa: B008  a frozen value
    ) -> None:
        """Prepare a server.

        Args:
            app: What answers the requests.
            host: Where to listen; a name may stand for several addresses.
            port: 0 for any that is free.
            tls: How to be https; which HTTP to offer is added to it.
            limits: What peers may ask.
        """
        self.addresses: list[tuple[str, int]] = []
        """Where it listens, once it is open."""
        self._app = app
        self._host = host
        self._port = port
        self._tls = tls
        self._limits = limits
        self._service: Service | None = None
        self._listener: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        if self._tls is not None:
            offer_http(self._tls)
        service = Service(self._app, self._limits, is_tls=self._tls is not None)

        def taken() -> asyncio.BaseProtocol:
            tls = self._tls
            return _Socket(service) if tls is None else Handshake(service, tls, _Socket)

        self._listener = await service.loop.create_server(
            taken, self._host, self._port, backlog=_BACKLOG
        )
        self._service = service
        names = [listening.getsockname() for listening in self._listener.sockets]
        self.addresses = [(name[0], name[1]) for name in names]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.drain(0)

    async def drain(self, grace: float) -> None:
        """Take nothing new, let what runs end, and close; after `grace` seconds all is closed.

        Peers are told at once (GOAWAY, `Connection: close`); idle connections are closed. Shortly
        before the end what still runs is cut: streams are reset, WebSockets closed with 1012.
        """
        service = self._service
        if service is None:
            return
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        service.is_draining = True
        for handshake in list(service.handshakes):
            handshake.abort()
        for wire in list(service.wires):
            if not wire.is_gone:
                wire.front.drain()
        last = min(_LAST_SECONDS, grace / 2)
        await _quiet(service, grace - last)
        for wire in list(service.wires):
            if not wire.is_gone:
                wire.front.cut()
        await _quiet(service, last)
        await _stop(service)


async def _quiet(service: Service, seconds: float) -> None:
    """Wait until nothing runs any more, at most so long."""
    try:
        async with asyncio.timeout(seconds):
            while service.wires or service.tasks:
                await service.changed.wait()
    except TimeoutError:
        pass


async def _stop(service: Service) -> None:
    """End everything that is left."""
    for wire in list(service.wires):
        wire.abort()
    for task in list(service.tasks):
        task.cancel()
    await _quiet(service, _LAST_SECONDS)
    if service.tasks:
        logger.warning("%d requests of the application do not end", len(service.tasks))


def _tune(opened: socket.socket, limits: ServerLimits) -> None:
    """Let the system notice peers that are gone, where no protocol of ours can ask them."""
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
