"""A raw JSON-RPC switch: ports, and the routes between them.

Proxies, the conductor and the gateway stand on it. It knows no method but `$/cancel_request`, whose
meaning is of one hop, and the few whose params name a request. The `route` of the port that a
message comes from decides where it goes; `port.py` carries that out.
"""

from __future__ import annotations

import asyncio
import logging

from parley.transport._base import Transport

from .messages import IdSequence
from .port import DEFAULT_OPTIONS, Port, PortOptions, Router

logger = logging.getLogger(__name__)

IN_FLIGHT = 1024
"""The default maximum number of pending requests of a port."""
IN_FLIGHT_BYTES = 32 * 1024 * 1024
"""How many bytes they may have before a further long one is refused."""


class Switch:
    """Some ports that can reach each other."""

    def __init__(
        self, *, in_flight: int = IN_FLIGHT, in_flight_bytes: int = IN_FLIGHT_BYTES
    ) -> None:
        """Begin without a port.

        Args:
            in_flight: How many requests of each port may be under way.
            in_flight_bytes: How many bytes these may have before a further long one is refused.
        """
        self.in_flight = in_flight
        self.in_flight_bytes = in_flight_bytes
        self.ports: set[Port] = set()
        """Those that are not gone."""
        self._closing: set[asyncio.Task[None]] = set()

    def add(
        self,
        transport: Transport,
        name: str,
        *,
        options: PortOptions = DEFAULT_OPTIONS,
        ids: IdSequence | None = None,
    ) -> Port:
        """Add a peer; nothing is read from it before `start`.

        Args:
            transport: The connection to the peer.
            name: The name of the peer in logs and errors.
            options: The behavior of the port.
            ids: The ids of requests to the peer; 0, 1, 2, … by default.
        """
        port = Port(self, transport, name, options=options, ids=ids)
        self.ports.add(port)
        return port

    def start(self, port: Port, route: Router) -> None:
        """Begin to read from a port; `route` decides where each of its messages goes."""
        port.start(route)

    def close(self, port: Port) -> None:
        """Close a port without waiting for it."""
        task = asyncio.get_running_loop().create_task(port.transport.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("a port could not be closed", exc_info=task.exception())

    async def aclose(self) -> None:
        """Close every port."""
        for port in list(self.ports):
            self.close(port)
        while self._closing:
            await asyncio.wait(self._closing)
