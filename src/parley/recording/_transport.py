"""A transport whose frames are recorded, for programs that carry connections themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from signal import Signals

from parley.errors import ConnectionClosed, ProcessExited
from parley.rpc._framing import Frame, LineBlock
from parley.transport._base import Receiver, Transport, send_close_reason
from parley.transport._frame_head import FrameHead

from ._format import Source
from ._writer import ActiveRecording


class RecordedTransport:
    """Hands the frames of a transport to a recording; implements `Transport`.

    Nothing waits for the recording, and nothing fails because of it.
    """

    def __init__(self, transport: Transport, recording: ActiveRecording, *, peer: Source) -> None:
        """Wrap a transport.

        Args:
            transport: The transport.
            recording: The recording; it ends with the connection.
            peer: Who is at the other end of the transport: the client or the agent.
        """
        self.transport: Transport = getattr(transport, "transport", transport)
        """The innermost transport, for callers that look what it is."""
        self._transport = transport
        self._recording = recording
        self._peer: Source = peer
        self._self: Source = "agent" if peer == "client" else "client"
        self._receiver: Receiver | None = None
        self._is_ended = False
        self.principal: str = getattr(transport, "principal", "")
        """Who the client is, of a transport that knows it."""
        self.remote: str = getattr(transport, "remote", "")
        """The address of the client, of a transport that knows it."""
        self.id: str = getattr(transport, "id", "")
        """The id of the connection, of a transport that has one."""

    def start(self, receiver: Receiver) -> None:
        """Begin delivering inbound frames to the receiver."""
        self._receiver = receiver
        self._transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Record frames, and pass them on."""
        if isinstance(frames, LineBlock):
            self._recording.write(self._peer, frames.block)
        else:
            self._recording.write(self._peer, b"".join(_lines(frames)))
        assert self._receiver is not None
        self._receiver.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Record the end, and pass it on."""
        self._end(reason)
        assert self._receiver is not None
        self._receiver.connection_lost(reason)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame, and record it."""
        self._transport.send(frame, head)
        self._recording.write(self._self, frame + b"\n")

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
        """Set the reason that the peer receives when the connection is closed."""
        send_close_reason(self._transport, reason)

    async def aclose(self) -> None:
        """Close the connection, and end the recording."""
        try:
            await self._transport.aclose()
        finally:
            self._end(None)

    def _end(self, reason: ConnectionClosed | None) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        self._recording.write_event("closed", source=self._peer if reason else self._self)
        if isinstance(reason, ProcessExited):
            if reason.code < 0:
                self._recording.write_event("exited", signal=Signals(-reason.code).name)
            else:
                self._recording.write_event("exited", code=reason.code)
        self._recording.close()


def _lines(frames: Sequence[Frame]) -> list[bytes]:
    return [bytes(frame) + b"\n" for frame in frames]
