"""One stream of events: the connection's, or that of a session.

It is opened, read, and opened again behind the last event that was delivered, if the server keeps
what was missed. After an interruption events are looked at one by one until the first new one, so
that nothing is delivered twice. What must not overtake this stream waits here: until an event with
a certain id was delivered, or, where the server does not tell, until the stream is silent for a
moment or says that the agent is idle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.rpc.framing import Frame, Lines
from parley.transport.http.backoff import Backoff
from parley.transport.http.negotiation import LAST_EVENT_ID

from .events import Block, Event, EventParser, Item, parse_id
from .response import Headers, Interrupted, Response

__all__ = ["Reader", "Subscription"]

SILENCE_AFTER = 0.1
"""So long a plain server's stream is silent when the replay of a session is over."""
SILENCE_TIMEOUT = 1.0
"""So long an answer waits for that at most."""
AFTER_TIMEOUT = 5.0
"""So long a message waits for what it must not overtake, on a stream that is there."""
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
"""After these a stream that can be resumed is asked for again."""
_ATTEMPTS = 3
_EVENTS = "text/event-stream"
_IDLE = b'"state":"idle"'


class Reader(Protocol):
    """Who reads the streams of a connection."""

    resumes: bool
    is_paused: bool

    def backoff(self) -> Backoff:
        """Return how to wait before a stream is opened again."""
        ...

    async def open_stream(self, session: str, headers: Headers) -> Response:
        """Ask for a stream."""
        ...

    def parser(self) -> EventParser:
        """Return what reads events."""
        ...

    def deliver(self, stream: Subscription, frames: Sequence[Frame], size: int) -> None:
        """Take frames; so many lines, if they are a block."""

    def deliver_after(self, stream: Subscription, frame: Frame, after: bytes) -> None:
        """Take a frame that must not overtake another stream."""

    def is_away(self, part: object, text: str) -> None:
        """Learn that a stream is interrupted."""

    def is_back(self, part: object) -> None:
        """Learn that it is there again."""

    async def rest(self, seconds: float) -> None:
        """Wait before a stream is opened again; less when another one is back."""

    def ended(self, why: str) -> None:
        """Learn that the server has ended the connection."""

    def is_over(self, stream: Subscription) -> bool:
        """Tell whether a stream that has ended was ended for ever."""
        ...

    async def refused_stream(
        self, stream: Subscription, response: Response
    ) -> ConnectionClosed | None:
        """Return why a refused stream ends the connection; None if it does not."""
        ...

    def lose(self, reason: ConnectionClosed) -> None:
        """End the connection."""


class Subscription:
    """A stream, through all its interruptions."""

    def __init__(self, reader: Reader, session: str = "") -> None:
        self.session = session
        """Whose it is; empty for the connection's."""
        self.is_early = False
        """Whether the server may not know the session yet."""
        self.cursor = 0
        """The id of the last event that was delivered."""
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[bool] = self._loop.create_future()
        """Done when the first attempt has been answered: whether the stream is open."""
        self._task: asyncio.Task[None] | None = None
        self._response: Response | None = None
        self._parser = reader.parser()
        self._is_careful = False
        self._is_asked_again = False
        self._waiting: list[tuple[int, Frame, asyncio.TimerHandle]] = []
        self._silence: tuple[Frame, float, asyncio.TimerHandle] | None = None
        self._is_idle = False

    def start(self) -> None:
        """Begin to read."""
        self._task = self._loop.create_task(self._run())

    def stop(self) -> None:
        """Let go of the stream."""
        if self._task is not None:
            self._task.cancel()
        if not self.opened.done():
            self.opened.set_result(False)
        self._reader.is_back(self)
        self._release(None)

    def hold(self) -> None:
        """Read nothing for now."""
        if self._response is not None:
            self._response.hold()

    def release(self) -> None:
        """Read again."""
        if self._response is not None:
            self._response.release()

    def wait(self, seen: int, frame: Frame) -> bool:
        """Keep a frame until an event was delivered; False if it was already."""
        if self.cursor >= seen:
            return False
        self._waiting.append((seen, frame, self._timer(seen)))
        return True

    def _timer(self, seen: int) -> asyncio.TimerHandle:
        return self._loop.call_later(AFTER_TIMEOUT, self._overdue, seen, self.cursor)

    def _overdue(self, seen: int, cursor: int) -> None:
        """Wait no longer for an event, unless the stream brings others, or is interrupted."""
        if self._response is not None and self.cursor == cursor:
            self._release(seen)
            return
        self._waiting = [
            (until, frame, self._timer(until) if until == seen else timer)
            for until, frame, timer in self._waiting
        ]

    def loading(self) -> None:
        """Expect the replay of a session."""
        self._is_idle = False
        self.is_early = not self.opened.done()

    def wait_for_silence(self, frame: Frame) -> bool:
        """Keep a frame until the replay of a plain server seems to be over; False if it is."""
        if self._is_idle or self._response is None or self._silence is not None:
            return False
        timer = self._loop.call_later(SILENCE_AFTER, self._is_silent)
        self._silence = (frame, self._loop.time() + SILENCE_TIMEOUT, timer)
        return True

    async def _run(self) -> None:
        reader, backoff, attempts = self._reader, self._reader.backoff(), 0
        while True:
            try:
                response = await reader.open_stream(self.session, self._headers())
                if response.status != 200 and not await self._is_worth_waiting(response):
                    return
                problem: TransportError | None = None
                if response.status == 200:
                    if not self._is_stream(response):
                        return
                    problem = await self._read(response, backoff)
            except (ConnectFailed, Interrupted) as error:
                problem = error
            if reader.is_over(self):
                return
            attempts += 1
            is_unseen = isinstance(problem, Interrupted) and problem.is_unseen
            if not reader.resumes and not (is_unseen and attempts < _ATTEMPTS):
                reader.lose(
                    ConnectionClosed(f"the stream of {self._named()} ended: {_why(problem)}")
                )
                return
            self._is_asked_again = reader.resumes
            reader.is_away(self, _why(problem))
            await reader.rest(max(backoff.next(), self._parser.retry_after or 0))

    def _named(self) -> str:
        return "a session" if self.session else "the connection"

    def _is_stream(self, response: Response) -> bool:
        """End the connection if a server answers with anything else, as a login page."""
        kind = response.header(b"content-type")
        if kind.partition(";")[0].strip().lower() == _EVENTS:
            return True
        response.cancel()
        self._reader.lose(
            ConnectionClosed(
                f"the stream of {self._named()} has the type {kind[:100]!r}, and is not {_EVENTS}; "
                "is there something between us and the agent?"
            )
        )
        return False

    async def _is_worth_waiting(self, response: Response) -> bool:
        """Decide about a stream that was refused."""
        if not self.opened.done():
            self.opened.set_result(False)
        if self._reader.is_over(self):
            response.cancel()
            return False
        if response.status in _AGAIN and self._reader.resumes:
            response.cancel()
            return True
        reason = await self._reader.refused_stream(self, response)
        if reason is not None:
            self._reader.lose(reason)
        return False

    def _headers(self) -> Headers:
        headers = [(b"accept", _EVENTS.encode())]
        if self._is_asked_again:
            headers.append((LAST_EVENT_ID, b"%d" % self.cursor))
        return headers

    async def _read(self, response: Response, backoff: Backoff) -> TransportError | None:
        """Take events until the stream ends, and return why."""
        ended: asyncio.Future[TransportError | None] = self._loop.create_future()

        def end(error: TransportError | None) -> None:
            if not ended.done():
                ended.set_result(error)

        def take(data: bytes) -> None:
            if self._take(data):  # to be let in and sent away at once is no success
                backoff.reset()

        began = self._loop.time()
        self.is_early = False
        self._is_careful = self._is_asked_again
        self._parser = self._reader.parser()
        self._response = response
        if not self.opened.done():
            self.opened.set_result(True)
        self._reader.is_back(self)
        if self._reader.is_paused:
            response.hold()
        try:
            response.listen(take, end)
            return await ended
        finally:
            self._response = None
            response.cancel()
            backoff.lasted(self._loop.time() - began)

    def _take(self, data: bytes) -> bool:
        """Take a piece of the stream; tell whether there was a message in it."""
        items = self._parser.feed(data, is_careful=self._is_careful)
        for item in items:
            self._deliver(item)
        if self._parser.end is not None:
            self._reader.ended(self._parser.end)
        if not items:
            return False
        if self._waiting:
            self._release(self.cursor)
        if self._silence is not None:
            self._heard()
        return True

    def _deliver(self, item: Item) -> None:
        id = parse_id(item.id)
        if isinstance(item, Block):
            self._reader.deliver(self, Lines(item.lines), item.size)
            self._is_idle = _IDLE in item.lines[item.lines.rfind(b"\n", 0, -1) + 1 :]
        elif item.type in (b"", b"message") and not self._is_known(item, id):
            self._is_careful = False
            self._is_idle = _IDLE in item.data
            if item.after:
                self._reader.deliver_after(self, item.data, item.after)
            else:
                self._reader.deliver(self, [item.data], 0)
        self.cursor = max(id, self.cursor)

    def _is_known(self, event: Event, id: int) -> bool:
        return self._is_careful and 0 < id <= self.cursor

    def _release(self, seen: int | None) -> None:
        """Let go what waited for an event, or everything, at the end of the stream."""
        waiting, self._waiting = self._waiting, []
        for until, frame, timer in waiting:
            if seen is None or until <= seen:
                timer.cancel()
                self._reader.deliver(self, [frame], 0)
            else:
                self._waiting.append((until, frame, timer))
        if seen is None:
            self._is_silent()

    def _heard(self) -> None:
        """Wait for silence anew, within bounds."""
        assert self._silence is not None
        frame, limit, timer = self._silence
        timer.cancel()
        wait = 0.0 if self._is_idle else min(SILENCE_AFTER, limit - self._loop.time())
        self._silence = (frame, limit, self._loop.call_later(max(wait, 0), self._is_silent))

    def _is_silent(self) -> None:
        if self._silence is not None:
            frame, _, timer = self._silence
            timer.cancel()
            self._silence = None
            self._reader.deliver(self, [frame], 0)


def _why(problem: TransportError | None) -> str:
    return "the server ended it" if problem is None else str(problem)
