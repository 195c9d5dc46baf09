"""A WebSocket, or a sequence of them, as the sink of a connection.

A plain connection has one socket and ends with it. Peers that negotiated count the text messages
that they have sent and received. From time to time, a binary frame of eight bytes acknowledges the
number received. Messages without an acknowledgement are kept, within a limit, and sent again on the
next socket. The protocol of one socket is in `websocket_endpoint.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from parley.transport._frame_head import FrameHead
from parley.transport._notifier import Notifier
from parley.transport.http._asgi_types import Send

from .cancel_scope import CancelScope
from .limits import AppLimits, Clock, Timer
from .responses import HttpError
from .websocket_sessions import WebSocketSessions

ACK_BYTES = 8
_ACK_MESSAGES = 64
_ACK_AFTER_BYTES = 256 * 1024
_ACK_SECONDS = 1.0


class WebSocketSink:
    """A `FrameSink` that queues frames for a WebSocket, and keeps those not yet acknowledged."""

    def __init__(
        self,
        *,
        limits: AppLimits,
        clock: Clock,
        is_negotiated: bool,
        check_sessions: Callable[[], None],
    ) -> None:
        """Create a sink without a socket.

        Args:
            limits: Limits on the queued and the kept bytes.
            clock: The source of time.
            is_negotiated: Whether the client may resume on another socket.
            check_sessions: Raises `HttpError` if no further session may be opened.
        """
        self._limits = limits
        self._clock = clock
        self.is_negotiated = is_negotiated
        """Whether the client may resume on another socket."""
        self.on_overflow: Callable[[], None] | None = None
        """Called when more than `AppLimits.connection_bytes` are queued."""
        self.sessions = WebSocketSessions(check_sessions)
        """The open sessions."""
        self.received_count = 0
        """The number of messages received."""
        self.has_ended = False
        """Whether no more frames are accepted."""
        self._scope: CancelScope | None = None
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._sent_count = 0
        self._unacknowledged: deque[bytes] = deque()
        self._unacknowledged_bytes = 0
        self._unacked_received = self._unacked_received_bytes = 0
        self._ack_timer: Timer | None = None
        self._is_ack_due = False
        self._wake: asyncio.Future[None] | None = None
        self._writers = Notifier()
        self._drained = Notifier()

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes that wait for the client."""
        return self._queued_bytes

    @property
    def open_sessions(self) -> int:
        """The number of sessions that are open, or being opened."""
        return len(self.sessions)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame."""
        self.sessions.outbound(frame, head)
        self._queue.append(frame)
        self._queued_bytes += len(frame)
        if self._wake is not None:
            self._wake_writer()
        if self._queued_bytes > self._limits.connection_bytes and self.on_overflow is not None:
            self.on_overflow()

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await while too much is queued, otherwise None."""
        if self._queued_bytes <= self._limits.stream_bytes or self.has_ended:
            return None
        return self._writers.wait()

    async def flush(self) -> None:
        """Wait until the current socket, if any, has taken everything."""
        if self._queued_bytes and self._scope is not None:
            await self._drained.wait()

    def end(self, reason: str) -> None:
        """Send the queued frames and accept no more; the close frame carries the reason."""
        del reason
        self.has_ended = True
        if self._ack_timer is not None:
            self._ack_timer.cancel()
        self._writers.notify_all()
        self._drained.notify_all()
        self._wake_writer()

    def disconnect(self) -> None:
        """Disconnect the current socket."""
        if self._scope is not None:
            self._scope.cancel()

    def attach(self, received: int, scope: CancelScope) -> None:
        """Resume on a new socket, after the first `received` messages.

        Raises:
            HttpError: The messages after that are forgotten, or `received` is too high.
        """
        first = self._sent_count - len(self._unacknowledged)
        if received > self._sent_count:
            raise HttpError(400, "bad_cursor", "That many messages have not been sent")
        if received < first:
            raise HttpError(
                410,
                "too_old",
                "The missed messages are no longer available; open a new connection and resume",
            )
        self.acknowledge(received)
        self.disconnect()
        self._scope = scope
        self._queue.extendleft(reversed(self._unacknowledged))
        self._queued_bytes = sum(map(len, self._queue))
        self._sent_count = received
        self._unacknowledged.clear()
        self._unacknowledged_bytes = 0
        self._is_ack_due = False

    def is_current(self, scope: CancelScope) -> bool:
        """Return whether this is the scope of the current socket."""
        return self._scope is scope

    def detach(self, scope: CancelScope) -> bool:
        """Remove a socket that has ended; return whether it was the current one."""
        if self._scope is not scope:
            return False
        self._scope = None
        self._drained.notify_all()
        return True

    def acknowledge(self, count: int) -> None:
        """Drop the kept messages up to the number that the client has received."""
        kept = self._unacknowledged
        first = self._sent_count - len(kept)
        for _ in range(min(count, self._sent_count) - first):
            self._unacknowledged_bytes -= len(kept.popleft())

    def message_received(self, size: int) -> None:
        """Count a received message, and schedule its acknowledgement."""
        self.received_count += 1
        if not self.is_negotiated:
            return
        self._unacked_received += 1
        self._unacked_received_bytes += size
        if (
            self._unacked_received >= _ACK_MESSAGES
            or self._unacked_received_bytes >= _ACK_AFTER_BYTES
        ):
            self._schedule_ack()
        elif self._ack_timer is None:
            self._ack_timer = self._clock.call_later(_ACK_SECONDS, self._schedule_ack)

    async def run(self, send: Send, scope: CancelScope) -> None:
        """Send frames and acknowledgements until the end, or until another socket takes over."""
        while self._scope is scope:
            if self._is_ack_due:
                self._is_ack_due = False
                ack = self.received_count.to_bytes(ACK_BYTES, "big")
                await send({"type": "websocket.send", "bytes": ack})
            elif self._queue:
                await send({"type": "websocket.send", "text": self._take_message()})
                self._message_sent()
            elif self.has_ended:
                return
            else:
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake

    def _take_message(self) -> str:
        """Take the next message, and keep it until it is acknowledged."""
        frame = self._queue.popleft()
        self._queued_bytes -= len(frame)
        self._sent_count += 1
        if self.is_negotiated:
            kept = self._unacknowledged
            kept.append(frame)
            self._unacknowledged_bytes += len(frame)
            while self._unacknowledged_bytes > self._limits.log_bytes:
                self._unacknowledged_bytes -= len(kept.popleft())
        return frame.decode("utf-8", "replace")

    def _message_sent(self) -> None:
        if self._writers and self._queued_bytes <= self._limits.stream_bytes // 4:
            self._writers.notify_all()
        if not self._queue:
            self._drained.notify_all()

    def _schedule_ack(self) -> None:
        self._unacked_received = self._unacked_received_bytes = 0
        if self._ack_timer is not None:
            self._ack_timer.cancel()
            self._ack_timer = None
        self._is_ack_due = True
        self._wake_writer()

    def _wake_writer(self) -> None:
        """Wake `run`, so that it checks the queue in the next iteration of the event loop."""
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)
