"""A raw JSON-RPC switchboard: ports, and who hears what another says.

Proxies, the conductor and the gateway stand on it. It knows no method but `$/cancel_request`, whose
meaning is of one hop, and the few whose params name a request. Where something goes is said by the
`route` of the port that it came from; how is in `port.py`.
"""

from __future__ import annotations

import asyncio
import logging

from parley.transport._base import Transport

from .port import Port, Router

logger = logging.getLogger(__name__)

IN_FLIGHT = 1024
"""How many requests of a port may be under way, unless told otherwise."""
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
        route: Router,
        *,
        is_trusted: bool = True,
        skips_noise: bool = False,
        takes_arrays: bool = True,
        patience: float | None = None,
    ) -> Port:
        """Add a peer; nothing is read from it before `start`.

        Args:
            transport: What carries it.
            name: What it is called in logs and errors.
            route: Says where its messages go.
            is_trusted: Whether what it says is read as we read it; see `Port`.
            skips_noise: Whether lines that are no JSON are passed over instead of answered.
            takes_arrays: Whether what came as an array goes on as one.
            patience: For how many seconds it may take nothing while others wait for it.
        """
        port = Port(self, transport, name, route)
        port.is_trusted = is_trusted
        port.skips_noise = skips_noise
        port.takes_arrays = takes_arrays
        port.patience = patience
        self.ports.add(port)
        return port

    def start(self, port: Port) -> None:
        """Begin to read from a port."""
        port.transport.start(port)

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
