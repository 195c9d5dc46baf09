"""The queue of outbound frames, each sent as the body of a POST.

A server that numbers messages (`Parley-Message`) gets several POSTs at once. An interrupted one is
sent again under the same number, so each frame is delivered once and in order. Any other server
gets one POST at a time, and a frame is sent again only if the server has certainly not seen it. A
POST does not wait for the agent: the server responds at once, and the agent's response arrives on a
stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import Protocol

from parley._task_owner import TaskOwner
from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.transport._base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from parley.transport._notifier import Notifier
from parley.transport.http._backoff import Backoff
from parley.transport.http._negotiation import MESSAGE

from .connection_pool import HttpConnectionPool
from .frame_tracker import FrameRoute
from .http_errors import read_reason
from .response import Headers, RequestInterrupted, Response

_MAX_CONCURRENT = {"2": 64, "1.1": 4}
_MAX_IN_FLIGHT_BYTES = 1024 * 1024
_ATTEMPTS = 3
_BODY_BYTES = 64 * 1024
_BODY_TIMEOUT = 2.0
_BODY_GRACE_AFTER = 0.2
"""Bounds on reading a response body that is not needed; beyond them the response is cancelled.

`_BODY_GRACE_AFTER` applies to HTTP/1.1, `_BODY_TIMEOUT` to HTTP/2."""
_RETRY_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504)
"""Statuses after which a numbered message is sent again, since later ones would wait for it.

If the response has a `Parley-Message` header, the server counts the message as received, and it is
not repeated."""


class PostSender(Protocol):
    """The transport that a `PostQueue` sends frames for."""

    resumes: bool
    tasks: TaskOwner

    def backoff(self) -> Backoff:
        """Return a new backoff for repeated POSTs."""
        ...

    def post_headers(self, session: str) -> Headers:
        """Return the headers of a POST."""
        ...

    def prepare(self, route: FrameRoute) -> asyncio.Future[bool] | None:
        """Return a future to await before a frame may be sent, or None."""
        ...

    def frame_refused(self, route: FrameRoute, status: int, reason: str) -> None:
        """Handle a frame that the server refused."""

    def mark_interrupted(self, part: object, text: str) -> None:
        """Called when frames cannot be sent at the moment."""

    def mark_reconnected(self, part: object) -> None:
        """Called when frames can be sent again."""

    def end(self, reason: ConnectionClosed) -> None:
        """End the connection for this reason."""


class _Post:
    __slots__ = (
        "attempts",
        "discarded_bytes",
        "frame",
        "is_ready",
        "number",
        "omits_session",
        "route",
        "timer",
    )

    def __init__(self, frame: bytes, route: FrameRoute, number: int) -> None:
        self.frame = frame
        self.route = route
        self.number = number
        self.attempts = 0
        self.is_ready = not route.loads
        self.discarded_bytes = 0
        self.timer: asyncio.TimerHandle | None = None
        self.omits_session = False
        """Whether the session header is left out."""


class PostQueue:
    """The frames to send, and the POSTs in flight."""

    def __init__(self, sender: PostSender, pool: HttpConnectionPool, path: bytes) -> None:
        self._sender = sender
        self._pool = pool
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Post] = deque()
        self._in_flight: set[_Post] = set()
        self._in_flight_bytes = 0
        self._unsent_bytes = 0
        self._number = 0
        self._is_open = False
        self._is_stopped = False
        self._is_interrupted = False
        self._backoff = sender.backoff()
        self._retry: asyncio.Task[None] | asyncio.TimerHandle | None = None
        self._backoff_until = 0.0
        self._refusal_tasks: set[asyncio.Task[None]] = set()
        self._waiters = Notifier()

    def put(self, frame: bytes, route: FrameRoute) -> None:
        """Queue a frame."""
        self._number += 1
        self._unsent_bytes += len(frame)
        self._queue.append(_Post(frame, route, self._number))
        if self._is_open:
            self._send_queued()

    def open(self) -> None:
        """Start sending: the connection is initialized."""
        self._is_open = True
        self._send_queued()

    def stop(self) -> None:
        """Discard the queued frames, and stop sending."""
        self._is_stopped = True
        self._queue.clear()
        self._unsent_bytes = 0
        if self._retry is not None:
            self._retry.cancel()
        for task in self._refusal_tasks:
            task.cancel()
        self._waiters.notify_all()

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await if too many bytes are unsent, otherwise None."""
        if self._unsent_bytes <= HIGH_WATER_BYTES or self._is_stopped:
            return None
        return self._waiters.wait()

    async def flush(self) -> None:
        """Wait until the server has accepted all frames."""
        while self._unsent_bytes and not self._is_stopped:
            await self._waiters.wait()

    def _may_send(self) -> bool:
        if not self._in_flight:
            return True
        limit = _MAX_CONCURRENT.get(self._pool.http_version, 1) if self._sender.resumes else 1
        return len(self._in_flight) < limit and self._in_flight_bytes < _MAX_IN_FLIGHT_BYTES

    def _send_queued(self) -> None:
        """Send as many queued frames as may be in flight."""
        while self._queue and self._retry is None and not self._is_stopped and self._may_send():
            post = self._queue[0]
            if not post.is_ready and self._must_wait(post):
                return
            headers = self._sender.post_headers("" if post.omits_session else post.route.session)
            if self._sender.resumes:
                headers.append((MESSAGE, b"%d" % post.number))
            response = self._pool.try_send("POST", self._path, headers, post.frame)
            if response is None:
                self._retry = self._sender.tasks.create_task(self._wait_for_connection())
                return
            self._queue.popleft()
            self._in_flight.add(post)
            self._in_flight_bytes += len(post.frame)
            response.on_head = partial(self._response_received, post)

    def _must_wait(self, post: _Post) -> bool:
        """Prepare for sending a frame, and return whether it has to wait for that."""
        post.is_ready = True
        ready = self._sender.prepare(post.route)
        if ready is None or ready.done():
            return False
        self._retry = self._sender.tasks.create_task(self._wait(ready))
        return True

    async def _wait(self, ready: asyncio.Future[bool]) -> None:
        await asyncio.wait({ready})
        self._resume()

    async def _wait_for_connection(self) -> None:
        """Wait for an available connection, retrying if the server can resume, then continue."""
        while True:
            try:
                await self._pool.wait_until_available()
            except ConnectFailed as error:
                if not self._sender.resumes:
                    self._sender.end(ConnectionClosed(str(error)))
                    return
                self._report_interruption(str(error))
                await asyncio.sleep(self._backoff.next())
            else:
                self._resume()
                return

    def _resume(self) -> None:
        """Resume sending, but not before the backoff is over."""
        self._retry = None
        remaining = self._backoff_until - self._loop.time()
        if remaining > 0:
            self._retry = self._loop.call_later(remaining, self._resume)
        else:
            self._send_queued()

    def _report_interruption(self, text: str) -> None:
        self._is_interrupted = True
        self._sender.mark_interrupted(self, text)

    def _response_received(self, post: _Post, response: Response) -> None:
        if response.error is not None:
            self._interrupted(post, response.error)
        elif 200 <= response.status < 300:
            self._await_body(post, response)
        elif (
            self._sender.resumes
            and response.status in _RETRY_STATUSES
            and not response.header(MESSAGE)
        ):
            response.cancel()
            self._interrupted(
                post, RequestInterrupted(f"the server is not ready ({response.status})")
            )
        elif self._should_omit_session(post, response.status):
            response.cancel()
            post.omits_session = True
            self._remove_in_flight(post)
            self._queue.appendleft(post)
            self._send_queued()
        else:
            task = self._sender.tasks.create_task(self._report_refusal(post, response))
            self._refusal_tasks.add(task)
            task.add_done_callback(self._refusal_tasks.discard)

    def _should_omit_session(self, post: _Post, status: int) -> bool:
        """Return whether to repeat a load without the session header after a 404.

        Some servers do not know the session before it is loaded and reject the header; others
        require it. So it is tried with the header first.
        """
        loads = post.route.loads and not post.omits_session
        return status == 404 and loads and not self._sender.resumes

    def _await_body(self, post: _Post, response: Response) -> None:
        """Count a frame as accepted, without waiting for a response body that does not end.

        On HTTP/1.1 the connection cannot be reused before the body ends, so there is a short grace
        period.
        """
        response.listen(partial(self._discard, post, response), partial(self._accepted, post))
        if response.stream_id:  # HTTP/2
            self._loop.call_soon(self._stop_reading_body, post, response, _BODY_TIMEOUT)
        elif post in self._in_flight:
            post.timer = self._loop.call_later(
                _BODY_GRACE_AFTER, self._stop_reading_body, post, response, 0
            )

    def _discard(self, post: _Post, response: Response, data: bytes) -> None:
        """Discard a chunk of the body; cancel a response whose body is too long."""
        post.discarded_bytes += len(data)
        if post.discarded_bytes > _BODY_BYTES:
            response.cancel()
            self._accepted(post)

    def _stop_reading_body(self, post: _Post, response: Response, cancel_after: float) -> None:
        if post in self._in_flight:
            self._loop.call_later(cancel_after, response.cancel)
            self._accepted(post)

    def _accepted(self, post: _Post, error: TransportError | None = None) -> None:
        del error  # the frame was accepted, however the body ended
        if post not in self._in_flight:
            return
        if post.timer is not None:
            post.timer.cancel()
        if self._is_interrupted:
            self._is_interrupted = False
            self._backoff.reset()
            self._sender.mark_reconnected(self)
        self._done(post)

    async def _report_refusal(self, post: _Post, response: Response) -> None:
        reason = await read_reason(response)
        self._sender.frame_refused(post.route, response.status, reason)
        self._done(post)

    def _done(self, post: _Post) -> None:
        if self._is_stopped:
            return
        self._remove_in_flight(post)
        self._unsent_bytes -= len(post.frame)
        if self._waiters and self._unsent_bytes <= LOW_WATER_BYTES:
            self._waiters.notify_all()
        self._send_queued()

    def _remove_in_flight(self, post: _Post) -> None:
        self._in_flight.discard(post)
        self._in_flight_bytes -= len(post.frame)

    def _interrupted(self, post: _Post, error: TransportError) -> None:
        """Queue a frame again if that is safe, otherwise end the connection."""
        self._remove_in_flight(post)
        if self._is_stopped:
            return
        post.attempts += 1
        is_unprocessed = isinstance(error, RequestInterrupted) and error.is_unprocessed
        if not self._sender.resumes and not (is_unprocessed and post.attempts < _ATTEMPTS):
            self._sender.end(ConnectionClosed(f"a message could not be sent: {error}"))
            return
        # Several POSTs may be interrupted, in any order: keep the queue in the order of numbers.
        self._queue = deque(sorted([post, *self._queue], key=lambda each: each.number))
        now = self._loop.time()
        if now >= self._backoff_until:
            self._report_interruption(str(error))
            self._backoff_until = now + self._backoff.next()
        if self._retry is None:
            self._resume()
