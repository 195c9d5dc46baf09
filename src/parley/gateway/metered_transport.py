"""A transport that counts the traffic of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport._base import Receiver, Transport, send_close_reason
from parley.transport._frame_head import FrameHead

__all__ = ["MeteredTransport", "TrafficTotals"]


class TrafficTotals:
    """The number of messages and bytes, in both directions."""

    __slots__ = ("bytes_in", "bytes_out", "messages_in", "messages_out")

    def __init__(self) -> None:
        self.messages_in = 0
        self.messages_out = 0
        self.bytes_in = 0
        self.bytes_out = 0


class MeteredTransport:
    """Counts the messages and bytes of a transport; implements `Transport`."""

    __slots__ = ("_receiver", "_totals", "_transport", "id", "principal", "remote")

    def __init__(self, transport: Transport, totals: TrafficTotals) -> None:
        self._transport = transport
        self._totals = totals
        self._receiver: Receiver | None = None
        self.principal: str = getattr(transport, "principal", "")
        """Who the client is; empty for the one local user."""
        self.remote: str = getattr(transport, "remote", "")
        """The address of the client."""
        self.id: str = getattr(transport, "id", "")
        """The id of the connection."""

    def start(self, receiver: Receiver) -> None:
        """Begin delivering inbound frames to the receiver."""
        self._receiver = receiver
        self._transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Count frames of the client, and pass them on."""
        self._totals.messages_in += len(frames)
        self._totals.bytes_in += sum(map(len, frames))
        assert self._receiver is not None
        self._receiver.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Pass the loss of the client on."""
        assert self._receiver is not None
        self._receiver.connection_lost(reason)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Count a frame to the client, and send it."""
        self._transport.send(frame, head)
        self._totals.messages_out += 1
        self._totals.bytes_out += len(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more; None while there is room."""
        return self._transport.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._transport.resume_reading()

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Set the reason that the client receives when the connection is closed."""
        send_close_reason(self._transport, reason)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transport.aclose()
