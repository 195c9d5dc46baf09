"""A client's transport that counts what passes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport._base import Receiver, Transport, send_close_reason
from parley.transport._frame_head import FrameHead

__all__ = ["MeteredTransport", "TrafficTotals"]


class TrafficTotals:
    """How much has passed, since the beginning."""

    __slots__ = ("bytes_in", "bytes_out", "messages_in", "messages_out")

    def __init__(self) -> None:
        self.messages_in = 0
        self.messages_out = 0
        self.bytes_in = 0
        self.bytes_out = 0


class MeteredTransport:
    """The same transport; implements `Transport`."""

    __slots__ = ("_receiver", "_totals", "_transport", "id", "principal", "remote")

    def __init__(self, transport: Transport, totals: TrafficTotals) -> None:
        self._transport = transport
        self._totals = totals
        self._receiver: Receiver | None = None
        self.principal: str = getattr(transport, "principal", "")
        """Who the client is; empty for the one local user."""
        self.remote: str = getattr(transport, "remote", "")
        """Where it is."""
        self.id: str = getattr(transport, "id", "")
        """What the connection is called."""

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        self._transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Count what the client says, and pass it on."""
        self._totals.messages_in += len(frames)
        self._totals.bytes_in += sum(map(len, frames))
        assert self._receiver is not None
        self._receiver.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Pass on that it is over."""
        assert self._receiver is not None
        self._receiver.connection_lost(reason)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Count what the client is told."""
        self._transport.send(frame, head)
        self._totals.messages_out += 1
        self._totals.bytes_out += len(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        return self._transport.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._transport.resume_reading()

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Say why this end will be closed."""
        send_close_reason(self._transport, reason)

    async def aclose(self) -> None:
        """Close."""
        await self._transport.aclose()
