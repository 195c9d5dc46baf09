"""TLS on a connection that the server has taken: counted from its first moment, and in time.

asyncio would tell of a connection only when its handshake is over; until then it would be nobody's.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from .wire import Service, Wire

__all__ = ["Handshake"]


class Handshake(asyncio.Protocol):
    """A connection whose handshake is under way; then it is a wire's."""

    def __init__(
        self, service: Service, tls: ssl.SSLContext, make_wire: Callable[[Service], Wire]
    ) -> None:
        self._service = service
        self._tls = tls
        self._make_wire = make_wire
        self._transport: asyncio.Transport | None = None
        self._early = b""
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        service = self._service
        if self._transport is not None:  # what is above TLS, as uvloop tells
            return
        self._transport = cast("asyncio.Transport", transport)
        if service.is_full or service.is_draining:
            self._transport.abort()
            return
        self._transport.pause_reading()
        service.handshakes.add(self)
        service.spawn(self._shake())

    def data_received(self, data: bytes) -> None:
        """Keep what comes with the end of the handshake."""
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the peer has left."""
        self._is_lost = True

    def abort(self) -> None:
        """Let go of the connection."""
        if self._transport is not None:
            self._transport.abort()

    async def _shake(self) -> None:
        limits, above = self._service.limits, None
        assert self._transport is not None
        try:
            with suppress(OSError):  # it is no TLS, or takes too long, or the peer has left
                above = await self._service.loop.start_tls(
                    self._transport,
                    self,
                    self._tls,
                    server_side=True,
                    ssl_handshake_timeout=limits.head_timeout,
                    ssl_shutdown_timeout=limits.close_timeout,
                )
        finally:
            self._service.handshakes.discard(self)
            if above is None:
                self._transport.abort()
        if above is not None and not self._is_lost:
            self._hand_over(above)

    def _hand_over(self, above: asyncio.Transport) -> None:
        wire = self._make_wire(self._service)
        above.set_protocol(wire)
        wire.connection_made(above)
        room = len(self._service.buffer)
        for start in range(0, len(self._early), room):
            piece = self._early[start : start + room]
            wire.get_buffer(len(piece))[: len(piece)] = piece
            wire.buffer_updated(len(piece))
