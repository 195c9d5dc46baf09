"""An in-memory transport, for tests and for agents in the same process as their client.

An end is closed by its own `aclose`, or by the other end's as soon as the frames that were sent
earlier have been delivered. Each end wakes the senders, at the other end, that wait for room in its
inbox.
"""

from __future__ import annotations

import asyncio

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame

from ._base import HIGH_WATER_BYTES, Receiver, deliver_frames
from ._frame_head import FrameHead
from ._notifier import Notifier


class MemoryTransport:
    """One end of an in-memory connection; create both with `memory_pair`.

    Frames arrive at the other end in the next iteration of the event loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._other: MemoryTransport | None = None
        self._inbox: list[Frame] = []
        self._inbox_bytes = 0
        self._is_scheduled = False
        self._is_paused = False
        self._lost: ConnectionClosed | None = None
        self._waiters = Notifier()
        self._close_reason = ConnectionClosed("the peer closed the connection")

    def join(self, other: MemoryTransport) -> None:
        """Set the other end, which receives what this one sends."""
        self._other = other

    def start(self, receiver: Receiver) -> None:
        """Begin delivering inbound frames to the receiver."""
        self._receiver = receiver
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)
        self._schedule()

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Put a frame into the other end's inbox.

        Raises:
            ConnectionClosed: The connection is closed.
        """
        other = self._other
        if self._lost is not None or other is None or other._lost is not None:
            raise ConnectionClosed("the connection is closed")
        other._inbox.append(frame)
        other._inbox_bytes += len(frame)
        other._schedule()

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await while the other end's inbox is full, else None."""
        other = self._other
        if self._lost is not None or other is None or other._inbox_bytes <= HIGH_WATER_BYTES:
            return None
        return other._waiters.wait()

    def pause_reading(self) -> None:
        """Leave inbound frames in the inbox."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Resume delivering inbound frames."""
        self._is_paused = False
        self._schedule()

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Set the reason that the other end receives when this one is closed."""
        self._close_reason = reason

    async def aclose(self) -> None:
        """Close both ends; the other one still receives the frames sent earlier."""
        self._lose(ConnectionClosed("the connection was closed by us"))

    def _schedule(self) -> None:
        if not self._is_scheduled and self._receiver is not None and not self._is_paused:
            self._is_scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_scheduled = False
        if self._is_paused or self._lost is not None:
            return
        assert self._receiver is not None
        frames, self._inbox, self._inbox_bytes = self._inbox, [], 0
        self._waiters.notify_all()
        if frames:
            deliver_frames(self._receiver, frames, self._lose)
        if self._other is not None and self._other._lost is not None and not self._inbox:
            self._lose(self._other._close_reason)

    def _lose(self, reason: ConnectionClosed) -> None:
        if self._lost is not None:
            return
        self._lost = reason
        self._inbox.clear()
        self._inbox_bytes = 0
        self._waiters.notify_all()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
        if self._other is not None:
            self._other._waiters.notify_all()
            self._other._schedule()


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Return the two connected ends of an in-memory connection."""
    one, other = MemoryTransport(), MemoryTransport()
    one.join(other)
    other.join(one)
    return one, other
