"""One stream of server-sent events: its queue and its current reader.

Theory of operation. Events are numbered and queued whether or not there is a reader. A reader is
the response to one GET; a stream has at most one. It takes queued events, up to some kilobytes in
one chunk, and passes them to the server, which may apply backpressure. Writers to this stream wait
while too much is queued or in transit; writers to other streams do not. When the streams of the
connection together hold very much, each may only hold one message (`send_window.py`).

A reader ends when its client disconnects, when another reader takes the stream over, or when the
stream has ended and everything was taken. The log, if there is one, has the events that the reader
took but did not deliver.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from parley._task_owner import TaskOwner
from parley.asgi_server.extensions import OnDisconnect
from parley.transport._notifier import Notifier
from parley.transport.http._asgi_types import Receive, Send

from .cancel_scope import CancelScope
from .event_log import EventLog, EventsForgotten
from .event_numbering import events_after, last_number
from .limits import Clock, Timer
from .responses import Header, HttpError
from .send_window import SendWindow

_COMMENT = b":\n\n"
"""A comment that keeps the stream alive; readers ignore it."""
_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-store"),
    (b"x-accel-buffering", b"no"),
)
"""Response headers of a stream: intermediaries must not store or buffer it."""
_CHUNK_BYTES = 12 * 1024
"""The size of a joined chunk: less than an HTTP/2 frame, but enough to amortize its cost."""
_END_TIMEOUT = 1.0
"""The seconds that a displaced reader may take to end its response properly."""


class EventStream:
    """The event stream of a connection, or of one of its sessions."""

    __slots__ = (
        "_last_logged",
        "_log",
        "_queue",
        "_send_window",
        "_sent_callbacks",
        "_writers",
        "end_timer",
        "has_ended",
        "is_claimed",
        "key",
        "last_number",
        "last_taken",
        "reader",
        "session",
        "unsent_bytes",
    )

    def __init__(self, session: str | None, send_window: SendWindow, log: EventLog | None) -> None:
        self.session = session
        """The session that it belongs to; None for the connection's own stream."""
        self.last_number = 0
        """The number of the last event."""
        self.last_taken = 0
        """The number of the last event that a reader took."""
        self.reader: EventStreamReader | None = None
        """The current reader, if any."""
        self.is_claimed = True
        """Whether a message from the client or the agent has named the session."""
        self.has_ended = False
        """Whether the stream has ended."""
        self.key: bytes | None = None
        """The session id as it is encoded in a frame."""
        self.end_timer: Timer | None = None
        """The timer that will end the stream, because its session is closed or was never named."""
        self.unsent_bytes = 0
        """The number of bytes that are queued or being passed to the server."""
        self._send_window = send_window
        self._log = log
        self._last_logged = 0
        self._queue: list[bytes] = []
        self._writers = Notifier()
        self._sent_callbacks: list[tuple[int, Callable[[], None]]] = []

    def put(self, number: int, event: bytes) -> None:
        """Queue an event and wake the reader."""
        self._queue.append(event)
        self.last_number = number
        self.unsent_bytes += len(event)
        self._send_window.add(len(event))
        if self.reader is not None:
            self.reader.wake()

    def take_chunk(self) -> bytes:
        """Take a chunk from the queue, and log it; empty if the queue is empty."""
        queue = self._queue
        if not queue:
            return b""
        if self.unsent_bytes <= _CHUNK_BYTES:
            self.last_taken = self.last_number
            chunk = b"".join(queue) if len(queue) > 1 else queue[0]
            queue.clear()
        else:
            count = self._count_fitting()
            chunk = b"".join(queue[:count])
            del queue[:count]
            self.last_taken = last_number(chunk)
        if self._log is not None and self.last_taken > self._last_logged:
            self._last_logged = self.last_taken
            self._log.append(self.session, self.last_taken, chunk)
        return chunk

    def _count_fitting(self) -> int:
        """Return the number of queued events that fit into a chunk; at least one."""
        count = size = 0
        for event in self._queue:
            size += len(event)
            if count and size > _CHUNK_BYTES:
                break
            count += 1
        return count

    def chunk_sent(self, size: int) -> None:
        """Record that the server has accepted a chunk of this size."""
        self.unsent_bytes -= size
        self._send_window.remove(size)
        self.wake_writers()
        if self._sent_callbacks:
            self._run_sent_callbacks(self.last_taken)

    @property
    def is_full(self) -> bool:
        """Whether writers must wait."""
        return self.unsent_bytes > self._send_window.allowed and not self.has_ended

    def wake_writers(self) -> None:
        """Wake the waiting writers if enough of the queue was sent."""
        if self._writers and self.unsent_bytes <= self._send_window.allowed // 4:
            self.wake_all_writers()

    def wait(self) -> asyncio.Future[None]:
        """Return a future that resolves when more may be written."""
        return self._writers.wait()

    def wake_all_writers(self) -> None:
        """Wake all waiting writers."""
        self._writers.notify_all()

    def when_sent(self, callback: Callable[[], None]) -> None:
        """Call back when the server has accepted everything queued so far, or the stream ends."""
        self._sent_callbacks.append((self.last_number, callback))

    def _run_sent_callbacks(self, up_to: int) -> None:
        due = [callback for n, callback in self._sent_callbacks if n <= up_to]
        self._sent_callbacks = [each for each in self._sent_callbacks if each[0] > up_to]
        for callback in due:
            callback()

    def attach(self, cursor: int | None, clock: Clock) -> EventStreamReader:
        """Create a reader that starts after the event `cursor`.

        With a cursor, it replaces the current reader, whose connection may be dead without our
        knowing it.

        Raises:
            HttpError: There is a reader already, or the events after the cursor are forgotten.
        """
        if cursor is None and self.reader is not None:
            raise HttpError(
                409,
                "already_open",
                "This stream is already open; to take it over, send Last-Event-ID",
            )
        if cursor is not None:
            self._rewind(cursor)
        if self.reader is not None:
            self.reader.cancel()
            in_transit = self.unsent_bytes - sum(map(len, self._queue))  # taken by the old reader
            self.unsent_bytes -= in_transit
            self._send_window.remove(in_transit)
        self.reader = EventStreamReader(self, clock)
        return self.reader

    def detach(self, reader: EventStreamReader, undelivered_bytes: int) -> None:
        """Remove a reader; `undelivered_bytes` is the size of what it took but did not deliver."""
        if self.reader is reader:
            self.reader = None
            self.chunk_sent(undelivered_bytes)
            self._discard_queue()

    def end(self) -> None:
        """End the stream; the reader still gets the queued events."""
        self.has_ended = True
        if self.end_timer is not None:
            self.end_timer.cancel()
            self.end_timer = None
        self.wake_all_writers()
        self._run_sent_callbacks(self.last_number)
        self._discard_queue()
        if self.reader is not None:
            self.reader.wake()

    def _discard_queue(self) -> None:
        """Drop the queue of a stream that has ended and has no reader."""
        if self.has_ended and self.reader is None:
            self._queue.clear()
            self._send_window.remove(self.unsent_bytes)
            self.unsent_bytes = 0

    def _rewind(self, cursor: int) -> None:
        """Queue the events after the cursor again that an earlier reader took.

        Raises:
            HttpError: The log no longer has them.
        """
        if cursor >= self.last_taken:
            return
        found = (
            EventsForgotten(self.last_taken)
            if self._log is None
            else self._log.after(self.session, cursor)
        )
        if isinstance(found, EventsForgotten):
            raise HttpError(
                410,
                "too_old",
                "The events after that one are no longer available; open a new connection and "
                "load or resume the session",
            )
        self.last_taken = cursor
        again: list[bytes] = []
        for n, chunk in found:
            again.append(events_after(chunk, cursor))
            cursor = max(n, cursor)
        self._queue[:0] = filter(None, again)
        size = sum(map(len, again))
        self.unsent_bytes += size
        self._send_window.add(size)


class EventStreamReader:
    """The response to one GET: sends the events of a stream to a client.

    There are many readers, most of them idle, so each is one coroutine in one task and keeps
    nothing else.
    """

    __slots__ = (
        "_cancel_scope",
        "_clock",
        "_has_sent_end",
        "_is_disconnected",
        "_is_heartbeat_due",
        "_last_sent_at",
        "_stream",
        "_waiter",
        "headers",
        "on_end",
    )

    def __init__(self, stream: EventStream, clock: Clock) -> None:
        self.headers: Iterable[Header] = ()
        """Response headers in addition to those of an event stream."""
        self.on_end: Callable[[], None] | None = None
        """Called when the reader has ended."""
        self._stream = stream
        self._clock = clock
        self._last_sent_at = clock.time()
        self._waiter: asyncio.Future[None] | None = None
        self._cancel_scope = CancelScope()
        self._is_heartbeat_due = False
        self._has_sent_end = False
        self._is_disconnected = False

    def wake(self) -> None:
        """Wake the reader, so that it checks the stream in the next iteration of the event loop."""
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def cancel(self) -> None:
        """End the reader, even while it waits for the server."""
        self._cancel_scope.cancel()

    async def run(
        self, receive: Receive, send: Send, on_disconnect: OnDisconnect | None = None
    ) -> None:
        """Send events until the client disconnects, another reader takes over, or the stream ends.

        Args:
            receive: Reports the disconnect of the client; needs a task that waits for it.
            send: Sends the response.
            on_disconnect: Reports the disconnect without a task, if the server supports it.
        """
        if on_disconnect is not None:
            on_disconnect(self._disconnected)
            await self._send_events(send)
        else:
            async with TaskOwner("an event stream") as tasks:
                tasks.create_task(self._watch_disconnect(receive))
                await self._send_events(send)
        if not self._has_sent_end and not self._is_disconnected:
            await _end_response(send)

    async def _send_events(self, send: Send) -> None:
        stream, chunk = self._stream, b""
        try:
            async with self._cancel_scope:
                await send(_start_message(self.headers))
                await send(
                    _body_message(_COMMENT)
                )  # some servers hold the head back until there is a body
                while stream.reader is self:
                    if chunk := stream.take_chunk():
                        self._last_sent_at = self._clock.time()
                        await send(_body_message(chunk))
                        if stream.reader is self:
                            stream.chunk_sent(len(chunk))
                        chunk = b""
                    elif self._is_heartbeat_due:
                        self._is_heartbeat_due = False
                        self._last_sent_at = self._clock.time()
                        await send(_body_message(_COMMENT))
                    elif stream.has_ended:
                        self._has_sent_end = True
                        await send(_body_message(b"", more=False))
                        break
                    else:
                        self._waiter = asyncio.get_running_loop().create_future()
                        await self._waiter
        finally:
            stream.detach(self, len(chunk))
            if self.on_end is not None:
                self.on_end()

    def heartbeat(self, now: float, silence: float) -> None:
        """Send a keep-alive comment if nothing was sent for `silence` seconds."""
        if now - self._last_sent_at > silence and self._waiter is not None:
            self._is_heartbeat_due = True
            self.wake()

    async def _watch_disconnect(self, receive: Receive) -> None:
        """Wait for the client to disconnect: servers do not report that through `send`."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._disconnected()

    def _disconnected(self) -> None:
        self._is_disconnected = True
        self.cancel()


async def _end_response(send: Send) -> None:
    """End the response of a displaced reader, if its client still reads."""
    with suppress(OSError):
        async with asyncio.timeout(_END_TIMEOUT):
            await send(_body_message(b"", more=False))


def _start_message(headers: Iterable[Header]) -> dict[str, object]:
    return {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]}


def _body_message(body: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": more}
