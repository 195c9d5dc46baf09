"""One WebSocket, or one after the other, as the outlet of a connection.

A plain connection has one socket and ends with it. Peers that negotiated count the text messages
that they have sent and received. Now and then a binary frame, eight bytes, says how many have been
received; what is not acknowledged is kept, bounded, and sent again on the socket that follows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from parley.transport.http.asgi_types import Send
from parley.transport.waiters import Waiters

from .answers import Refused
from .leaving import Leaving
from .limits import AppLimits, Clock, Timer
from .socket_sessions import SocketSessions

__all__ = ["ACK_BYTES", "Socket"]

ACK_BYTES = 8
_ACK_MESSAGES = 64
_ACK_AFTER_BYTES = 256 * 1024
_ACK_SECONDS = 1.0


class Socket:
    """What waits to be sent to the client, and what it may not have got; an `Outlet`."""

    def __init__(
        self,
        *,
        limits: AppLimits,
        clock: Clock,
        is_negotiated: bool,
        check_sessions: Callable[[], None],
    ) -> None:
        """Prepare for a socket.

        Args:
            limits: What is held.
            clock: What time it is.
            is_negotiated: Whether another socket may follow.
            check_sessions: Raises `Refused` when there may be no further session.
        """
        self._limits = limits
        self._clock = clock
        self.is_negotiated = is_negotiated
        """Whether another socket may follow."""
        self.on_overflow: Callable[[], None] | None = None
        """Is called when more is queued than may be."""
        self.sessions = SocketSessions(check_sessions)
        """Those that are open."""
        self.received = 0
        """How many messages have come."""
        self.is_over = False
        """Whether nothing more will be sent."""
        self._leaving: Leaving | None = None
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._sent = 0
        self._unacknowledged: deque[bytes] = deque()
        self._unacknowledged_bytes = 0
        self._owed = self._owed_bytes = 0
        self._ack_timer: Timer | None = None
        self._is_ack_due = False
        self._wake: asyncio.Future[None] | None = None
        self._waiters = Waiters()
        self._empty = Waiters()

    @property
    def unsent_bytes(self) -> int:
        """How much waits for the client."""
        return self._bytes

    @property
    def open_sessions(self) -> int:
        """How many sessions are open, or being opened."""
        return len(self.sessions)

    def send(self, frame: bytes) -> None:
        """Queue a frame."""
        self.sessions.outbound(frame)
        self._queue.append(frame)
        self._bytes += len(frame)
        if self._wake is not None:
            self._look()
        if self._bytes > self._limits.connection_bytes and self.on_overflow is not None:
            self.on_overflow()

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for while too much is queued."""
        if self._bytes <= self._limits.stream_bytes or self.is_over:
            return None
        return self._waiters.wait()

    async def flush(self) -> None:
        """Wait until a socket that is there has taken everything."""
        if self._bytes and self._leaving is not None:
            await self._empty.wait()

    def end(self, why: str) -> None:
        """Send what is queued and nothing more; why, says the close code."""
        del why
        self.is_over = True
        if self._ack_timer is not None:
            self._ack_timer.cancel()
        self._waiters.release()
        self._empty.release()
        self._look()

    def cut(self) -> None:
        """Send the socket away."""
        if self._leaving is not None:
            self._leaving.leave()

    def attach(self, seen: int, leaving: Leaving) -> None:
        """Continue on a new socket behind the messages that the client has seen.

        Raises:
            Refused: What it lacks is forgotten, or was never sent.
        """
        first = self._sent - len(self._unacknowledged)
        if seen > self._sent:
            raise Refused(400, "bad_cursor", "So many messages have not been sent")
        if seen < first:
            raise Refused(
                410, "too_old", "What you lack is no longer kept; open a new connection and resume"
            )
        self.acknowledged(seen)
        self.cut()
        self._leaving = leaving
        self._queue.extendleft(reversed(self._unacknowledged))
        self._bytes = sum(map(len, self._queue))
        self._sent = seen
        self._unacknowledged.clear()
        self._unacknowledged_bytes = 0
        self._is_ack_due = False

    def is_on(self, leaving: Leaving) -> bool:
        """Tell whether a socket is the present one."""
        return self._leaving is leaving

    def detach(self, leaving: Leaving) -> bool:
        """Let go of a socket that is gone; tell whether it was the present one."""
        if self._leaving is not leaving:
            return False
        self._leaving = None
        self._empty.release()
        return True

    def acknowledged(self, count: int) -> None:
        """Forget what the client says it has received."""
        kept = self._unacknowledged
        first = self._sent - len(kept)
        for _ in range(min(count, self._sent) - first):
            self._unacknowledged_bytes -= len(kept.popleft())

    def took(self, size: int) -> None:
        """Count a message that has come, and acknowledge it soon."""
        self.received += 1
        if not self.is_negotiated:
            return
        self._owed += 1
        self._owed_bytes += size
        if self._owed >= _ACK_MESSAGES or self._owed_bytes >= _ACK_AFTER_BYTES:
            self._acknowledge()
        elif self._ack_timer is None:
            self._ack_timer = self._clock.call_later(_ACK_SECONDS, self._acknowledge)

    async def pour(self, send: Send, leaving: Leaving) -> None:
        """Send until the end, or until another socket has taken over."""
        while self._leaving is leaving:
            if self._is_ack_due:
                self._is_ack_due = False
                ack = self.received.to_bytes(ACK_BYTES, "big")
                await send({"type": "websocket.send", "bytes": ack})
            elif self._queue:
                await send({"type": "websocket.send", "text": self._next()})
                self._sent_one()
            elif self.is_over:
                return
            else:
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake

    def _next(self) -> str:
        """Take the next message, and keep it until it is acknowledged."""
        frame = self._queue.popleft()
        self._bytes -= len(frame)
        self._sent += 1
        if self.is_negotiated:
            kept = self._unacknowledged
            kept.append(frame)
            self._unacknowledged_bytes += len(frame)
            while self._unacknowledged_bytes > self._limits.log_bytes:
                self._unacknowledged_bytes -= len(kept.popleft())
        return frame.decode("utf-8", "replace")

    def _sent_one(self) -> None:
        if self._waiters and self._bytes <= self._limits.stream_bytes // 4:
            self._waiters.release()
        if not self._queue:
            self._empty.release()

    def _acknowledge(self) -> None:
        self._owed = self._owed_bytes = 0
        if self._ack_timer is not None:
            self._ack_timer.cancel()
            self._ack_timer = None
        self._is_ack_due = True
        self._look()

    def _look(self) -> None:
        """Have the sender look at the queue at the end of the event loop's turn."""
        wake, self._wake = self._wake, None
        if wake is not None and not wake.done():
            wake.set_result(None)
