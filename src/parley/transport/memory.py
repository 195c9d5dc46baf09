"""Two ends joined in one process, for tests and for agents that live beside their client.

An end is closed by its own `aclose`, or by the other's as soon as what the other had sent before is
delivered. Each end keeps those who wait for room in it; they are senders at the other end.
"""

from __future__ import annotations

import asyncio
import logging

from parley.errors import ConnectionClosed
from parley.rpc.framing import Frame

from .base import HIGH_WATER_BYTES, Receiver
from .waiters import Waiters

__all__ = ["MemoryTransport", "memory_pair"]

logger = logging.getLogger(__name__)


class MemoryTransport:
    """One end; what it sends arrives at the other in the next turn of the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._other: MemoryTransport | None = None
        self._inbox: list[Frame] = []
        self._inbox_bytes = 0
        self._delivers = False
        self._is_paused = False
        self._lost: ConnectionClosed | None = None
        self._waiters = Waiters()
        self._farewell = ConnectionClosed("the peer closed the connection")

    def join(self, other: MemoryTransport) -> None:
        """Make the other end the one that receives."""
        self._other = other

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver what arrives."""
        self._receiver = receiver
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)
        self._schedule()

    def send(self, frame: bytes) -> None:
        """Put a frame into the other end's inbox."""
        other = self._other
        if self._lost is not None or other is None or other._lost is not None:
            raise ConnectionClosed("the connection is closed")
        other._inbox.append(frame)
        other._inbox_bytes += len(frame)
        other._schedule()

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for while the other end's inbox is full."""
        other = self._other
        if self._lost is not None or other is None or other._inbox_bytes <= HIGH_WATER_BYTES:
            return None
        return other._waiters.wait()

    def pause_reading(self) -> None:
        """Leave what arrives in the inbox."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Deliver again."""
        self._is_paused = False
        self._schedule()

    def part(self, reason: ConnectionClosed) -> None:
        """Say what the other end learns when this one is closed."""
        self._farewell = reason

    async def aclose(self) -> None:
        """Close both ends; the other one still gets what was sent before."""
        self._lose(ConnectionClosed("the connection was closed by us"))

    def _schedule(self) -> None:
        if not self._delivers and self._receiver is not None and not self._is_paused:
            self._delivers = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._delivers = False
        if self._is_paused or self._lost is not None:
            return
        assert self._receiver is not None
        frames, self._inbox, self._inbox_bytes = self._inbox, [], 0
        self._waiters.release()
        if frames:
            try:
                self._receiver.frames_received(frames)
            except Exception:  # a defect of the receiver's ends this connection, not the loop
                logger.exception("what was sent could not be taken; the connection ends")
                self._lose(ConnectionClosed("we failed to take what the peer sent"))
        if self._other is not None and self._other._lost is not None and not self._inbox:
            self._lose(self._other._farewell)

    def _lose(self, reason: ConnectionClosed) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._inbox.clear()
        self._inbox_bytes = 0
        self._waiters.release()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
        if self._other is not None:
            self._other._waiters.release()
            self._other._schedule()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Return the two ends of a connection inside this process."""
    one, other = MemoryTransport(), MemoryTransport()
    one.join(other)
    other.join(one)
    return one, other
