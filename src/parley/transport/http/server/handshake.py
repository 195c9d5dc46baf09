"""TLS on a connection that the server has taken: counted from its first moment, and in time.

asyncio would tell of a connection only when its handshake is over; until then it would be nobody's.
So it is taken plain and handed in again as an accepted socket, before a byte of it is read.
"""

from __future__ import annotations

import asyncio
import os
import socket
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
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        service, taken = self._service, transport.get_extra_info("socket")
        if not service.is_full and not service.is_draining:
            own = socket.socket(fileno=os.dup(taken.fileno()))
            service.handshakes.add(self)
            self._task = service.spawn(self._shake(own))
        cast("asyncio.Transport", transport).abort()  # uvloop's is none by its type

    def abort(self) -> None:
        """Let go of the connection."""
        if self._task is not None:
            self._task.cancel()

    async def _shake(self, own: socket.socket) -> None:
        limits = self._service.limits
        own.setblocking(False)
        try:
            with suppress(OSError):  # it is no TLS, or takes too long, or the peer has left
                await self._service.loop.connect_accepted_socket(
                    lambda: self._make_wire(self._service),
                    own,
                    ssl=self._tls,
                    ssl_handshake_timeout=limits.head_timeout,
                    ssl_shutdown_timeout=limits.close_timeout,
                )
        finally:
            self._service.handshakes.discard(self)
