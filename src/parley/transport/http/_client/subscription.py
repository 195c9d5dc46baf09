"""A subscription to one event stream: the connection's, or that of a session.

If the server can resume, an interrupted stream is reopened after the last event that was delivered.
Events are then checked one by one until the first new one, so that none is delivered twice.

Frames that must not overtake this stream wait here until the event with a given id is delivered.
If the server does not name one, they wait until the stream is silent for a moment or reports that
the agent is idle. The bytes of a stream are parsed in `event_parser.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from parley._task_owner import TaskOwner
from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.rpc._framing import Frame, LineBlock
from parley.transport.http._backoff import Backoff
from parley.transport.http._negotiation import LAST_EVENT_ID

from .event_parser import (
    EventBlock,
    EventParser,
    Item,
    ServerSentEvent,
    parse_id,
)
from .response import Headers, RequestInterrupted, Response

SILENCE_AFTER = 0.1
"""Seconds of silence after which the replay of a session counts as complete.

For servers that do not name the event to wait for."""
SILENCE_TIMEOUT = 1.0
"""Maximum seconds for which a response waits for that silence."""
AFTER_TIMEOUT = 5.0
"""Seconds for which a frame waits for an event on a stream that is open and brings nothing."""
_RETRY_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504)
"""Statuses after which a stream that can be resumed is requested again."""
_ATTEMPTS = 3
_CONTENT_TYPE = "text/event-stream"
_IDLE_STATE = b'"state":"idle"'


class SubscriptionReader(Protocol):
    """The transport that a `Subscription` delivers frames to."""

    resumes: bool
    is_paused: bool
    tasks: TaskOwner

    def backoff(self) -> Backoff:
        """Return a new backoff for reopening a stream."""
        ...

    async def open_stream(self, session: str, headers: Headers) -> Response:
        """Request an event stream."""
        ...

    def parser(self) -> EventParser:
        """Return a new event parser."""
        ...

    def deliver(self, stream: Subscription, frames: Sequence[Frame], size: int) -> None:
        """Accept frames; `size` is the number of lines if they are a `LineBlock`."""

    def deliver_after(self, stream: Subscription, frame: Frame, after: bytes) -> None:
        """Accept a frame that must not overtake an event of another stream."""

    def mark_interrupted(self, part: object, text: str) -> None:
        """Called when a stream is interrupted."""

    def mark_reconnected(self, part: object) -> None:
        """Called when a stream is open again, or no longer needed."""

    async def wait_before_retry(self, seconds: float) -> None:
        """Wait before reopening a stream; return early when another part reconnects."""

    def server_ended(self, reason: str) -> None:
        """Called when the server has ended the connection."""

    def has_ended(self, stream: Subscription) -> bool:
        """Return whether a stream that has ended must not be reopened."""
        ...

    async def stream_refused(
        self, stream: Subscription, response: Response
    ) -> ConnectionClosed | None:
        """Return why a refused stream ends the connection; None if it does not."""
        ...

    def end(self, reason: ConnectionClosed) -> None:
        """End the connection for this reason."""


class Subscription:
    """One event stream, reopened after interruptions."""

    def __init__(self, reader: SubscriptionReader, session: str = "") -> None:
        self.session = session
        """The session; empty for the connection's stream."""
        self.is_unknown_to_server = False
        """Whether the server may not know the session yet, because it is about to be loaded."""
        self.cursor = 0
        """The id of the last delivered event."""
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[bool] = self._loop.create_future()
        """Resolved after the first attempt: whether the stream is open."""
        self._task: asyncio.Task[None] | None = None
        self._response: Response | None = None
        self._parser = reader.parser()
        self._skips_duplicates = False
        self._is_reopened = False
        self._held: list[tuple[int, Frame, asyncio.TimerHandle]] = []
        self._silence: tuple[Frame, float, asyncio.TimerHandle] | None = None
        self._is_idle = False

    def start(self) -> None:
        """Start reading the stream."""
        self._task = self._reader.tasks.create_task(self._run())

    def stop(self) -> None:
        """Close the stream, and deliver the frames that wait for it."""
        if self._task is not None:
            self._task.cancel()
        if not self.opened.done():
            self.opened.set_result(False)
        self._reader.mark_reconnected(self)
        self._release_held(None)

    def pause(self) -> None:
        """Pause reading."""
        if self._response is not None:
            self._response.pause()

    def resume(self) -> None:
        """Resume reading."""
        if self._response is not None:
            self._response.resume()

    def hold_until(self, event_id: int, frame: Frame) -> bool:
        """Hold a frame until an event is delivered; return False if it already was.

        Args:
            event_id: The id of the event.
            frame: The frame that must not overtake it.
        """
        if self.cursor >= event_id:
            return False
        self._held.append((event_id, frame, self._timer(event_id)))
        return True

    def _timer(self, event_id: int) -> asyncio.TimerHandle:
        return self._loop.call_later(AFTER_TIMEOUT, self._overdue, event_id, self.cursor)

    def _overdue(self, event_id: int, cursor: int) -> None:
        """Stop waiting for an event, unless the stream made progress or is interrupted."""
        if self._response is not None and self.cursor == cursor:
            self._release_held(event_id)
            return
        self._held = [
            (held_id, frame, self._timer(held_id) if held_id == event_id else timer)
            for held_id, frame, timer in self._held
        ]

    def expect_replay(self) -> None:
        """Prepare for the replay of the session, which is about to be loaded."""
        self._is_idle = False
        self.is_unknown_to_server = not self.opened.done()

    def hold_until_silence(self, frame: Frame) -> bool:
        """Hold a frame until the session's replay seems complete; return False if it does now."""
        if self._is_idle or self._response is None or self._silence is not None:
            return False
        timer = self._loop.call_later(SILENCE_AFTER, self._silence_reached)
        self._silence = (frame, self._loop.time() + SILENCE_TIMEOUT, timer)
        return True

    async def _run(self) -> None:
        """Open and read the stream, again and again, until it is over or the connection is lost."""
        reader, backoff, attempts = self._reader, self._reader.backoff(), 0
        while True:
            try:
                response = await reader.open_stream(self.session, self._headers())
                if response.status != 200 and not await self._should_retry(response):
                    return
                problem: TransportError | None = None
                if response.status == 200:
                    if not self._check_content_type(response):
                        return
                    problem = await self._read(response, backoff)
            except (ConnectFailed, RequestInterrupted) as error:
                problem = error
            if reader.has_ended(self):
                return
            attempts += 1
            is_unprocessed = isinstance(problem, RequestInterrupted) and problem.is_unprocessed
            if not reader.resumes and not (is_unprocessed and attempts < _ATTEMPTS):
                reader.end(
                    ConnectionClosed(
                        f"the stream of {self._display_name()} ended: {_describe_end(problem)}"
                    )
                )
                return
            self._is_reopened = reader.resumes
            reader.mark_interrupted(self, _describe_end(problem))
            await reader.wait_before_retry(max(backoff.next(), self._parser.retry_after or 0))

    def _display_name(self) -> str:
        return "a session" if self.session else "the connection"

    def _check_content_type(self, response: Response) -> bool:
        """Return whether the response is an event stream; if not, end the connection.

        It may be something else, such as the login page of a proxy.
        """
        kind = response.header(b"content-type")
        if kind.partition(";")[0].strip().lower() == _CONTENT_TYPE:
            return True
        response.cancel()
        self._reader.end(
            ConnectionClosed(
                f"the stream of {self._display_name()} is {kind[:100]!r}, not {_CONTENT_TYPE}; "
                "is there a proxy between this machine and the agent?"
            )
        )
        return False

    async def _should_retry(self, response: Response) -> bool:
        """Return whether to retry a refused stream; if not, end the connection if necessary."""
        if not self.opened.done():
            self.opened.set_result(False)
        if self._reader.has_ended(self):
            response.cancel()
            return False
        if response.status in _RETRY_STATUSES and self._reader.resumes:
            response.cancel()
            return True
        reason = await self._reader.stream_refused(self, response)
        if reason is not None:
            self._reader.end(reason)
        return False

    def _headers(self) -> Headers:
        headers = [(b"accept", _CONTENT_TYPE.encode())]
        if self._is_reopened:
            headers.append((LAST_EVENT_ID, b"%d" % self.cursor))
        return headers

    async def _read(self, response: Response, backoff: Backoff) -> TransportError | None:
        """Deliver events until the stream ends, and return the error, if any."""
        ended: asyncio.Future[TransportError | None] = self._loop.create_future()

        def end(error: TransportError | None) -> None:
            if not ended.done():
                ended.set_result(error)

        def take(data: bytes) -> None:
            if self._feed(data):  # being accepted and disconnected at once is not a success
                backoff.reset()

        opened_at = self._loop.time()
        self.is_unknown_to_server = False
        self._skips_duplicates = self._is_reopened
        self._parser = self._reader.parser()
        self._response = response
        if not self.opened.done():
            self.opened.set_result(True)
        self._reader.mark_reconnected(self)
        if self._reader.is_paused:
            response.pause()
        try:
            response.listen(take, end)
            return await ended
        finally:
            self._response = None
            response.cancel()
            backoff.connection_lasted(self._loop.time() - opened_at)

    def _feed(self, data: bytes) -> bool:
        """Deliver the events in a chunk, and return whether there were any."""
        items = self._parser.feed(data, single_events=self._skips_duplicates)
        for item in items:
            self._deliver(item)
        if self._parser.end is not None:
            self._reader.server_ended(self._parser.end)
        if not items:
            return False
        if self._held:
            self._release_held(self.cursor)
        if self._silence is not None:
            self._restart_silence_timer()
        return True

    def _deliver(self, item: Item) -> None:
        id = parse_id(item.id)
        if isinstance(item, EventBlock):
            self._reader.deliver(self, LineBlock(item.lines), item.size)
            self._is_idle = _IDLE_STATE in item.lines[item.lines.rfind(b"\n", 0, -1) + 1 :]
        elif item.type in (b"", b"message") and not self._is_duplicate(item, id):
            self._skips_duplicates = False
            self._is_idle = _IDLE_STATE in item.data
            if item.after:
                self._reader.deliver_after(self, item.data, item.after)
            else:
                self._reader.deliver(self, [item.data], 0)
        self.cursor = max(id, self.cursor)

    def _is_duplicate(self, event: ServerSentEvent, id: int) -> bool:
        return self._skips_duplicates and 0 < id <= self.cursor

    def _release_held(self, event_id: int | None) -> None:
        """Deliver the frames that waited for events up to this id; all frames if it is None."""
        held, self._held = self._held, []
        for held_id, frame, timer in held:
            if event_id is None or held_id <= event_id:
                timer.cancel()
                self._reader.deliver(self, [frame], 0)
            else:
                self._held.append((held_id, frame, timer))
        if event_id is None:
            self._silence_reached()

    def _restart_silence_timer(self) -> None:
        """Restart the wait for silence, within its timeout."""
        assert self._silence is not None
        frame, limit, timer = self._silence
        timer.cancel()
        wait = 0.0 if self._is_idle else min(SILENCE_AFTER, limit - self._loop.time())
        self._silence = (frame, limit, self._loop.call_later(max(wait, 0), self._silence_reached))

    def _silence_reached(self) -> None:
        if self._silence is not None:
            frame, _, timer = self._silence
            timer.cancel()
            self._silence = None
            self._reader.deliver(self, [frame], 0)


def _describe_end(problem: TransportError | None) -> str:
    return "the server ended it" if problem is None else str(problem)
