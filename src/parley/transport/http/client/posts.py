"""The frames that go out, each as the body of a POST.

A server that counts messages (`Parley-Message`) gets many at once, and one that was interrupted
again, under the same number: it is delivered once, and in order. Any other gets one after the
other, and again only what it has surely not seen. Nobody waits here for the agent: a POST is
answered at once, and what the agent says comes on a stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import Protocol

from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.transport.base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from parley.transport.http.backoff import Backoff
from parley.transport.http.negotiation import MESSAGE
from parley.transport.waiters import Waiters

from .refusals import reason_of
from .requests import HttpClient
from .response import Headers, Interrupted, Response
from .tracking import Way

__all__ = ["Posts"]

_AT_ONCE = {"2": 64, "1.1": 4}
_UNDER_WAY_BYTES = 1024 * 1024
_ATTEMPTS = 3
_BODY_BYTES = 64 * 1024
_BODY_TIMEOUT = 2.0
_BODY_GRACE_AFTER = 0.2
"""How much is read of an answer that nobody needs, and for how long; then it is cut off."""
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
"""After these a numbered message is sent again, unless the answer says that it counts as had: those
that follow would wait for it."""


class Sender(Protocol):
    """Whose frames these are."""

    resumes: bool

    def backoff(self) -> Backoff:
        """Return how to wait before something is sent again."""
        ...

    def post_headers(self, session: str) -> Headers:
        """Return the headers of a POST."""
        ...

    def prepare(self, way: Way) -> asyncio.Future[bool] | None:
        """Return what has to be done before a frame may be sent."""
        ...

    def refused(self, way: Way, status: int, reason: str) -> None:
        """Learn that the server did not take a frame."""

    def is_away(self, part: object, text: str) -> None:
        """Learn that frames cannot be sent."""

    def is_back(self, part: object) -> None:
        """Learn that they can be sent again."""

    def lose(self, reason: ConnectionClosed) -> None:
        """End the connection."""


class _Post:
    __slots__ = (
        "attempts",
        "frame",
        "is_anonymous",
        "is_ready",
        "number",
        "skipped_bytes",
        "timer",
        "way",
    )

    def __init__(self, frame: bytes, way: Way, number: int) -> None:
        self.frame = frame
        self.way = way
        self.number = number
        self.attempts = 0
        self.is_ready = not way.loads
        self.skipped_bytes = 0
        self.timer: asyncio.TimerHandle | None = None
        self.is_anonymous = False
        """Whether its session is not named in a header."""


class Posts:
    """A queue, and what is under way."""

    def __init__(self, sender: Sender, client: HttpClient, path: bytes) -> None:
        self._sender = sender
        self._client = client
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: deque[_Post] = deque()
        self._under_way: set[_Post] = set()
        self._under_way_bytes = 0
        self._unsent_bytes = 0
        self._number = 0
        self._is_open = False
        self._is_stopped = False
        self._is_away = False
        self._backoff = sender.backoff()
        self._again: asyncio.Task[None] | asyncio.TimerHandle | None = None
        self._rests_until = 0.0
        self._reasons: set[asyncio.Task[None]] = set()
        self._waiters = Waiters()

    def put(self, frame: bytes, way: Way) -> None:
        """Send a frame when its turn comes."""
        self._number += 1
        self._unsent_bytes += len(frame)
        self._queue.append(_Post(frame, way, self._number))
        if self._is_open:
            self._pump()

    def open(self) -> None:
        """Begin to send."""
        self._is_open = True
        self._pump()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_stopped = True
        self._queue.clear()
        self._unsent_bytes = 0
        if self._again is not None:
            self._again.cancel()
        for task in self._reasons:
            task.cancel()
        self._waiters.release()

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for when too much is unsent."""
        if self._unsent_bytes <= HIGH_WATER_BYTES or self._is_stopped:
            return None
        return self._waiters.wait()

    async def flush(self) -> None:
        """Wait until everything was taken."""
        while self._unsent_bytes and not self._is_stopped:
            await self._waiters.wait()

    def _has_turn(self) -> bool:
        if not self._under_way:
            return True
        most = _AT_ONCE.get(self._client.http_version, 1) if self._sender.resumes else 1
        return len(self._under_way) < most and self._under_way_bytes < _UNDER_WAY_BYTES

    def _pump(self) -> None:
        """Send what may be sent now."""
        while self._queue and self._again is None and not self._is_stopped and self._has_turn():
            post = self._queue[0]
            if not post.is_ready and self._prepares(post):
                return
            headers = self._sender.post_headers("" if post.is_anonymous else post.way.session)
            if self._sender.resumes:
                headers.append((MESSAGE, b"%d" % post.number))
            response = self._client.begin("POST", self._path, headers, post.frame)
            if response is None:
                self._again = self._loop.create_task(self._reach())
                return
            self._queue.popleft()
            self._under_way.add(post)
            self._under_way_bytes += len(post.frame)
            response.on_head = partial(self._answered, post)

    def _prepares(self, post: _Post) -> bool:
        """Have done what comes before a frame; tell whether that takes time."""
        post.is_ready = True
        before = self._sender.prepare(post.way)
        if before is None or before.done():
            return False
        self._again = self._loop.create_task(self._wait(before))
        return True

    async def _wait(self, before: asyncio.Future[bool]) -> None:
        await asyncio.wait({before})
        self._go_on()

    async def _reach(self) -> None:
        """Wait for a connection."""
        while True:
            try:
                await self._client.room()
            except ConnectFailed as error:
                if not self._sender.resumes:
                    self._sender.lose(ConnectionClosed(str(error)))
                    return
                self._interrupt(str(error))
                await asyncio.sleep(self._backoff.next())
            else:
                self._go_on()
                return

    def _go_on(self) -> None:
        """Send again, but not before the server has had its rest."""
        self._again = None
        rest = self._rests_until - self._loop.time()
        if rest > 0:
            self._again = self._loop.call_later(rest, self._go_on)
        else:
            self._pump()

    def _interrupt(self, text: str) -> None:
        self._is_away = True
        self._sender.is_away(self, text)

    def _answered(self, post: _Post, response: Response) -> None:
        if response.error is not None:
            self._interrupted(post, response.error)
        elif 200 <= response.status < 300:
            self._await_body(post, response)
        elif self._sender.resumes and response.status in _AGAIN and not response.header(MESSAGE):
            response.cancel()
            self._interrupted(post, Interrupted(f"the server is not ready ({response.status})"))
        elif self._is_worth_hiding(post, response.status):
            response.cancel()
            post.is_anonymous = True
            self._leave(post)
            self._queue.appendleft(post)
            self._pump()
        else:
            task = self._loop.create_task(self._refused(post, response))
            self._reasons.add(task)
            task.add_done_callback(self._reasons.discard)

    def _is_worth_hiding(self, post: _Post, status: int) -> bool:
        """Tell whether a plain server may not want a session to be named that is not loaded yet.

        Some do not know it then; others know no session without the header. It is tried first.
        """
        loads = post.way.loads and not post.is_anonymous
        return status == 404 and loads and not self._sender.resumes

    def _await_body(self, post: _Post, response: Response) -> None:
        """Count a frame as taken, without waiting for a body that does not end.

        HTTP/1.1 needs that end before the next request, so it is given a moment there.
        """
        response.listen(partial(self._skip, post, response), partial(self._taken, post))
        if response.stream_id:  # it is HTTP/2
            self._loop.call_soon(self._leave_body, post, response, _BODY_TIMEOUT)
        elif post in self._under_way:
            post.timer = self._loop.call_later(
                _BODY_GRACE_AFTER, self._leave_body, post, response, 0
            )

    def _skip(self, post: _Post, response: Response, data: bytes) -> None:
        """Do not look at what nobody wants, and do not take it for ever."""
        post.skipped_bytes += len(data)
        if post.skipped_bytes > _BODY_BYTES:
            response.cancel()
            self._taken(post)

    def _leave_body(self, post: _Post, response: Response, cancel_after: float) -> None:
        if post in self._under_way:
            self._loop.call_later(cancel_after, response.cancel)
            self._taken(post)

    def _taken(self, post: _Post, error: TransportError | None = None) -> None:
        del error  # it has been taken, however its empty answer ended
        if post not in self._under_way:
            return
        if post.timer is not None:
            post.timer.cancel()
        if self._is_away:
            self._is_away = False
            self._backoff.reset()
            self._sender.is_back(self)
        self._done(post)

    async def _refused(self, post: _Post, response: Response) -> None:
        reason = await reason_of(response)
        self._sender.refused(post.way, response.status, reason)
        self._done(post)

    def _done(self, post: _Post) -> None:
        if self._is_stopped:
            return
        self._leave(post)
        self._unsent_bytes -= len(post.frame)
        if self._waiters and self._unsent_bytes <= LOW_WATER_BYTES:
            self._waiters.release()
        self._pump()

    def _leave(self, post: _Post) -> None:
        self._under_way.discard(post)
        self._under_way_bytes -= len(post.frame)

    def _interrupted(self, post: _Post, error: TransportError) -> None:
        """Send a frame again, if that may be done."""
        self._leave(post)
        if self._is_stopped:
            return
        post.attempts += 1
        is_unseen = isinstance(error, Interrupted) and error.is_unseen
        if not self._sender.resumes and not (is_unseen and post.attempts < _ATTEMPTS):
            self._sender.lose(ConnectionClosed(f"a message could not be sent: {error}"))
            return
        self._queue = deque(sorted([post, *self._queue], key=lambda each: each.number))
        now = self._loop.time()
        if now >= self._rests_until:
            self._interrupt(str(error))
            self._rests_until = now + self._backoff.next()
        if self._again is None:
            self._go_on()
