"""The transport interface: frames out by `send`, frames in by callbacks, and backpressure.

A transport pushes what it reads, the frames of one read together, because a task and a queue
between the socket and the dispatcher would cost more than everything else that happens to a
message. Backpressure, which a pull interface gets for free, is explicit instead: a receiver that
has enough calls `pause_reading`. A broken transport reports it once, by `connection_lost`; errors
are never delivered among the frames.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame

from ._frame_head import FrameHead

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The default limit on the size of an inbound message."""
HIGH_WATER_BYTES = 256 * 1024
"""Above this many unsent bytes, `drained` makes senders wait."""
LOW_WATER_BYTES = 64 * 1024
"""At this many unsent bytes or fewer, waiting senders resume."""


class Receiver(Protocol):
    """The callbacks of a transport; pass the object to `Transport.start`."""

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Called with the frames of one read, in order."""

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Called once, when no more frames will arrive and none can be sent."""


def deliver_frames(
    receiver: Receiver, frames: Sequence[Frame], end: Callable[[ConnectionClosed], object]
) -> None:
    """Pass frames to the receiver; if it raises, which is a bug, end this connection alone.

    Args:
        receiver: The receiver of the transport.
        frames: The frames of one read.
        end: Ends the connection for a reason.
    """
    try:
        receiver.frames_received(frames)
    except Exception:  # not propagated: it would end the event loop's reader, or other connections
        logger.exception("the receiver failed on a frame; closing the connection")
        end(ConnectionClosed("the connection was closed because we failed to process a message"))


class Transport(Protocol):
    """A connection that carries frames to one peer and back.

    Call `start` once with a receiver, then `send` frames and await `drained()` to respect
    backpressure. `pause_reading` and `resume_reading` limit what arrives; `aclose` ends it.
    """

    def start(self, receiver: Receiver) -> None:
        """Begin reading, and deliver frames to the receiver."""

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame to be sent, in order; never block.

        Args:
            frame: A message or a batch.
            head: The method, the ids and the session of the message, from a sender that knows them;
                a transport that needs them reads them from the frame otherwise.

        Raises:
            ConnectionClosed: The connection is closed.
        """

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before checking again; None while there is room to send."""

    def pause_reading(self) -> None:
        """Stop reading; frames that were already read may still be delivered."""

    def resume_reading(self) -> None:
        """Resume reading."""

    async def aclose(self) -> None:
        """Send the queued frames, as far as the peer accepts them, and close."""


@runtime_checkable
class HasCloseReason(Protocol):
    """A transport that can send the peer the reason why it is closed."""

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Set the reason that the peer receives when this end is closed."""


def send_close_reason(transport: Transport, reason: ConnectionClosed) -> None:
    """Set the close reason that the peer receives, if the transport supports that."""
    if isinstance(transport, HasCloseReason):
        transport.set_close_reason(reason)
