"""Flow control: how much may wait on a connection, in both directions, and which side waits.

`ReadFlowControl` decides when reading pauses. Each session may have `session_bytes` that are read
but not yet handled. Above that, reading pauses, and the flood becomes backpressure in the pipe.
Reading also pauses while the peer sends messages that we reject and does not read the error
responses. While a handler waits for the peer (for a response, or for room to send), reading
continues, because what it waits for arrives on the same connection. When everything unhandled
exceeds `connection_bytes`, all such waits fail with `Overloaded`, and new ones do too until the
total is below the limit. So memory stays bounded, and flow control causes no deadlock.

`SendFlowControl` limits what waits for a peer that does not read. A sender waits until the
transport has room. If senders give up waiting and send again, `Overloaded` stops them at
`connection_bytes`.

Not here:

- When a transport has no room. Each one decides that in its method `drained`, most of them at
  `HIGH_WATER_BYTES` of unsent data (`transport/_base.py`): pipes, stdio and processes in
  `transport/_fd_writer.py`, memory in `transport/_memory.py`, HTTP and WebSocket clients in
  `transport/http/_client/post_queue.py` and `websocket_transport.py`, and the server in
  `transport/http/_app/event_stream.py` and `websocket_sink.py`.
- How a transport stops reading: its method `pause_reading`.
- Responses that the peer does not read: `_response_budget.py`.
- Updates that arrive before their session is known: `EarlyUpdates` in `_outbound.py`.
- The order in which messages are handled: `_dispatcher.py`. It and `Outbound` change the byte
  counts here directly, because a method call for each update would be measurable; they call the
  methods at a limit, while reading is paused, for each request, and when a lane ends.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from parley.errors import Overloaded
from parley.transport._base import Transport

from ._limits import Limits

if TYPE_CHECKING:
    from ._dispatcher import Lane

ITEM_BYTES = 512
"""Memory that a message takes in addition to its frame: the typed value and the queue entry."""
LANE_BYTES = 3072
"""Memory that a lane takes in addition to its items: the task and the queue."""


class ReadFlowControl:
    """The bytes that are read but not yet handled; pauses and resumes reading."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self.max_session_bytes = limits.session_bytes
        self.max_connection_bytes = limits.connection_bytes
        self.unhandled_bytes = 0
        """The bytes of all sessions, with the overhead of items and lanes, and unsent errors."""
        self.is_paused = False
        """Whether reading is paused."""
        self.is_exceeded = False
        """Whether so much is unhandled that no handler may wait for the peer."""
        self._full: set[Lane] = set()
        self._waits: set[asyncio.Future[Any]] = set()
        self._unread_error_bytes = 0

    def limit_reached(self, lane: Lane) -> None:
        """Pause reading after an item took its lane or the connection over a limit."""
        if lane.bytes > self.max_session_bytes:
            self._full.add(lane)
        self._update()

    def item_handled(self, lane: Lane) -> None:
        """Resume reading if enough has been handled; called after each item while paused."""
        if lane.bytes <= self.max_session_bytes // 2:  # hysteresis: do not pause again at once
            self._full.discard(lane)
        self._update()

    def lane_ended(self, lane: Lane) -> None:
        """Stop counting a lane, and the items that it did not handle."""
        self.unhandled_bytes -= lane.bytes + LANE_BYTES
        self._full.discard(lane)
        if self.is_paused:
            self._update()

    def wait_started(self, future: asyncio.Future[Any]) -> None:
        """Keep reading while a handler waits for the peer; fail the wait if that is too much."""
        self._waits.add(future)
        self._update()

    def wait_ended(self, future: asyncio.Future[Any]) -> None:
        """Pause reading again where only a waiting handler kept it going."""
        self._waits.discard(future)
        self._update()

    def check_wait(self, lane: Lane | None) -> None:
        """Raise `Overloaded` if the handler of this lane may not wait for the peer now."""
        if lane is not None and self.is_exceeded:
            raise self._overloaded()

    def count_error_response(self, frame_bytes: int) -> None:
        """Count the error response to a rejected message until the transport has room again."""
        if not self._unread_error_bytes:  # otherwise a callback is already registered
            drained = self._transport.drained()
            if drained is None:
                return
            drained.add_done_callback(self._error_responses_read)
        self._unread_error_bytes += frame_bytes + ITEM_BYTES
        self.unhandled_bytes += frame_bytes + ITEM_BYTES
        self._update()

    def _error_responses_read(self, _: asyncio.Future[None]) -> None:
        self.unhandled_bytes -= self._unread_error_bytes
        self._unread_error_bytes = 0
        self._update()

    def _update(self) -> None:
        """Pause or resume reading, and fail the waiting handlers if too much is unhandled."""
        self.is_exceeded = self.unhandled_bytes > self.max_connection_bytes
        if self.is_exceeded:
            for future in self._waits:
                if not future.done():
                    future.set_exception(self._overloaded())
        must_pause = self.is_exceeded or (
            not self._waits and (self._unread_error_bytes > 0 or self._has_full_session())
        )
        if must_pause != self.is_paused:
            self.is_paused = must_pause
            if must_pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _has_full_session(self) -> bool:
        """Return whether a session exceeds its limit, after dropping those that have caught up."""
        if self._full and not self.is_paused:
            low = self.max_session_bytes // 2
            self._full = {lane for lane in self._full if lane.bytes > low}
        return bool(self._full)

    def _overloaded(self) -> Overloaded:
        return Overloaded(
            f"A handler cannot wait for the peer: more than {self.max_connection_bytes} bytes "
            "have been read but not yet handled"
        )


class SendFlowControl:
    """The bytes that senders have left waiting for a peer that does not read."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._drained = transport.drained
        self._max_bytes = limits.connection_bytes
        self.blocked_bytes = 0
        """The bytes sent since the transport last had room, including those of senders that have
        stopped waiting."""
        self._next_drain: asyncio.Future[None] | None = None

    def check(self) -> None:
        """Raise `Overloaded` if the peer has stalled and too much waits to be sent to it."""
        if self.blocked_bytes <= self._max_bytes:
            return
        if self._next_drain is None or self._next_drain.done():
            self._next_drain = self._drained()
        if self._next_drain is not None:
            raise Overloaded(
                f"More than {self._max_bytes} bytes wait to be sent, and the peer is not reading"
            )
        self.blocked_bytes = 0
