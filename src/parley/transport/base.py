"""What a transport is: frames out by `send`, frames in by calls to a receiver, and backpressure.

A transport pushes what it read, the frames of a read together, because a task and a queue between
the socket and the dispatcher would cost more than everything else that happens to a message. What a
pulling interface gives for free is stated instead: a receiver that has enough calls
`pause_reading`.
A broken transport says so once, by `connection_lost`; errors are never items.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from parley.errors import ConnectionClosed
from parley.rpc.framing import Frame

__all__ = [
    "HIGH_WATER_BYTES",
    "LOW_WATER_BYTES",
    "MAX_MESSAGE_BYTES",
    "Parting",
    "Receiver",
    "Transport",
    "bid_farewell",
]

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""How long an inbound message may be, unless told otherwise."""
HIGH_WATER_BYTES = 256 * 1024
"""Above this much unsent, `drained` makes senders wait."""
LOW_WATER_BYTES = 64 * 1024
"""Down to this much, waiting senders go on."""


class Receiver(Protocol):
    """Who takes what a transport reads."""

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Take the frames of one read, in their order."""

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Learn, once, that nothing more will come and nothing can be sent."""


class Transport(Protocol):
    """Carries frames to one peer and back."""

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent, in order; never blocks.

        Raises:
            ConnectionClosed: The connection is closed.
        """

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before asking again; None while there is room to send more."""

    def pause_reading(self) -> None:
        """Stop reading; what has been read may still be delivered."""

    def resume_reading(self) -> None:
        """Go on reading."""

    async def aclose(self) -> None:
        """Send what is left, as far as the peer takes it, and close."""


@runtime_checkable
class Parting(Protocol):
    """A transport whose peer learns why it is closed."""

    def part(self, reason: ConnectionClosed) -> None:
        """Say why this end will be closed."""


def bid_farewell(transport: Transport, reason: ConnectionClosed) -> None:
    """Have the peer learn why a connection will be closed, where the transport can tell."""
    if isinstance(transport, Parting):
        transport.part(reason)
