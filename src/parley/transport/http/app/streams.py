"""One stream of events: what waits on it, and whoever reads it at the moment.

Theory of operation. Events are put, numbered, whether anybody reads or not. A reader is the answer
to one GET; there is at most one. It takes what is queued, up to some kilobytes in one piece, and
gives it to the server, which may make it wait. Those who write to this stream are made to wait
while too much is queued or on its way; others are not concerned. Only when very much is queued on
all streams of the connection, nobody writes more than one message ahead (`limits.Room`).

A reader ends when its client is gone, when another one takes the stream over, or when the stream is
over and everything was taken. What it has taken and not delivered is in the log, if there is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from parley.transport.http.asgi_types import Receive, Send, WhenGone
from parley.transport.http.limits import Room
from parley.transport.waiters import Waiters

from .answers import Header, Refused
from .leaving import Leaving
from .limits import Clock, Timer
from .log import EventLog, TooOld
from .sse import COMMENT, HEADERS, behind, last_number

__all__ = ["Reader", "Stream"]

_PIECE_BYTES = 12 * 1024
"""So much is joined into one piece: below a frame of HTTP/2, and far above what costs."""
_LAST_WORD = 1.0
"""How many seconds a reader that is sent away tries to end its answer properly."""


class Stream:
    """The events of a connection, or of one of its sessions."""

    __slots__ = (
        "_log",
        "_logged",
        "_queue",
        "_room",
        "_waiters",
        "_watched",
        "is_claimed",
        "is_over",
        "key",
        "last",
        "leaving",
        "reader",
        "session",
        "taken",
        "unsent_bytes",
    )

    def __init__(self, session: str | None, room: Room, log: EventLog | None) -> None:
        self.session = session
        """The session it belongs to; None for the connection's own."""
        self.last = 0
        """The number of the last event."""
        self.taken = 0
        """The number of the last event that a reader has taken."""
        self.reader: Reader | None = None
        """Who reads it."""
        self.is_claimed = True
        """Whether somebody besides its reader has named the session."""
        self.is_over = False
        """Whether nothing more will come."""
        self.key: bytes | None = None
        """How its session is written in a frame."""
        self.leaving: Timer | None = None
        """What will end it, because its session is closed or was never named."""
        self.unsent_bytes = 0
        """How much is queued or on its way to the server."""
        self._room = room
        self._log = log
        self._logged = 0
        self._queue: list[bytes] = []
        self._waiters = Waiters()
        self._watched: list[tuple[int, Callable[[], None]]] = []

    def put(self, n: int, event: bytes) -> None:
        """Queue an event."""
        self._queue.append(event)
        self.last = n
        self.unsent_bytes += len(event)
        self._room.add(len(event))
        if self.reader is not None:
            self.reader.wake()

    def take(self) -> bytes:
        """Take a piece of what is queued; empty when there is nothing."""
        queue = self._queue
        if not queue:
            return b""
        if self.unsent_bytes <= _PIECE_BYTES:
            self.taken = self.last
            piece = b"".join(queue) if len(queue) > 1 else queue[0]
            queue.clear()
        else:
            count = self._fitting()
            piece = b"".join(queue[:count])
            del queue[:count]
            self.taken = last_number(piece)
        if self._log is not None and self.taken > self._logged:
            self._logged = self.taken
            self._log.append(self.session, self.taken, piece)
        return piece

    def _fitting(self) -> int:
        """Return how many events make a piece; at least one."""
        count = size = 0
        for event in self._queue:
            size += len(event)
            if count and size > _PIECE_BYTES:
                break
            count += 1
        return count

    def sent(self, size: int) -> None:
        """Learn that the server has taken a piece."""
        self.unsent_bytes -= size
        self._room.remove(size)
        self.look()
        if self._watched:
            self._tell_watchers(self.taken)

    @property
    def is_full(self) -> bool:
        """Whether those who write to it have to wait."""
        return self.unsent_bytes > self._room.allowed and not self.is_over

    def look(self) -> None:
        """Let those go on who wait, if there is room again."""
        if self._waiters and self.unsent_bytes <= self._room.allowed // 4:
            self.release()

    def wait(self) -> asyncio.Future[None]:
        """Return what is done when there is room again."""
        return self._waiters.wait()

    def release(self) -> None:
        """Let everybody go who waits for room."""
        self._waiters.release()

    def when_sent(self, callback: Callable[[], None]) -> None:
        """Call back when the server has taken everything that is queued now, or the stream ends."""
        self._watched.append((self.last, callback))

    def _tell_watchers(self, up_to: int) -> None:
        due = [callback for n, callback in self._watched if n <= up_to]
        self._watched = [each for each in self._watched if each[0] > up_to]
        for callback in due:
            callback()

    def attach(self, cursor: int | None, clock: Clock) -> Reader:
        """Give the stream to a reader, behind the event that it has seen.

        With a cursor it is taken from whoever has it: a connection may be dead on one side alone.

        Raises:
            Refused: Somebody reads it already, or what the reader lacks is forgotten.
        """
        if cursor is None and self.reader is not None:
            raise Refused(
                409, "already_open", "This stream is open already; continue it with Last-Event-ID"
            )
        if cursor is not None:
            self._rewind(cursor)
        if self.reader is not None:
            self.reader.leave()
            held = self.unsent_bytes - sum(map(len, self._queue))  # what that one has taken
            self.unsent_bytes -= held
            self._room.remove(held)
        self.reader = Reader(self, clock)
        return self.reader

    def detach(self, reader: Reader, lost_bytes: int) -> None:
        """Take the stream from a reader, with what it has taken and not delivered."""
        if self.reader is reader:
            self.reader = None
            self.sent(lost_bytes)
            self._forget()

    def end(self) -> None:
        """Say that nothing more will come; a reader still gets what is queued."""
        self.is_over = True
        if self.leaving is not None:
            self.leaving.cancel()
            self.leaving = None
        self.release()
        self._tell_watchers(self.last)
        self._forget()
        if self.reader is not None:
            self.reader.wake()

    def _forget(self) -> None:
        """Keep nothing of a stream that is over and that nobody reads."""
        if self.is_over and self.reader is None:
            self._queue.clear()
            self._room.remove(self.unsent_bytes)
            self.unsent_bytes = 0

    def _rewind(self, cursor: int) -> None:
        """Queue again what follows a number and was taken by an earlier reader."""
        if cursor >= self.taken:
            return
        found = TooOld(self.taken) if self._log is None else self._log.after(self.session, cursor)
        if isinstance(found, TooOld):
            raise Refused(
                410,
                "too_old",
                "What follows that event is no longer kept; open a new connection and load or "
                "resume the session",
            )
        self.taken = cursor
        again: list[bytes] = []
        for n, piece in found:
            again.append(behind(piece, cursor))
            cursor = max(n, cursor)
        self._queue[:0] = filter(None, again)
        size = sum(map(len, again))
        self.unsent_bytes += size
        self._room.add(size)


class Reader:
    """The answer to one GET.

    There are many, most of them silent: it is one coroutine and one task, and keeps nothing else.
    """

    __slots__ = (
        "_beats",
        "_clock",
        "_is_ended",
        "_is_gone",
        "_leaving",
        "_stream",
        "_waiter",
        "_wrote_at",
        "headers",
        "on_end",
    )

    def __init__(self, stream: Stream, clock: Clock) -> None:
        self.headers: Iterable[Header] = ()
        """What the answer says besides that it is a stream."""
        self.on_end: Callable[[], None] | None = None
        """Is called when it has ended."""
        self._stream = stream
        self._clock = clock
        self._wrote_at = clock.time()
        self._waiter: asyncio.Future[None] | None = None
        self._leaving = Leaving()
        self._beats = False
        self._is_ended = False
        self._is_gone = False

    def wake(self) -> None:
        """Have it look at the stream at the end of the event loop's turn."""
        waiter = self._waiter
        if waiter is not None:
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def leave(self) -> None:
        """End it, also while the server makes it wait."""
        self._leaving.leave()

    async def pour(self, receive: Receive, send: Send, when_gone: WhenGone | None = None) -> None:
        """Send events until the client is gone, another takes over, or the stream is over.

        Args:
            receive: Tells that the client is gone, to a task that waits for it.
            send: Takes the answer.
            when_gone: Tells the same without a task, where the server can.
        """
        watcher = None
        if when_gone is None:
            watcher = asyncio.create_task(self._watch(receive))
        else:
            when_gone(self._lose)
        stream, piece = self._stream, b""
        try:
            async with self._leaving:
                await send(_start(self.headers))
                await send(_piece(COMMENT))  # some servers send nothing before a first piece
                while stream.reader is self:
                    if piece := stream.take():
                        self._wrote_at = self._clock.time()
                        await send(_piece(piece))
                        if stream.reader is self:
                            stream.sent(len(piece))
                        piece = b""
                    elif self._beats:
                        self._beats = False
                        self._wrote_at = self._clock.time()
                        await send(_piece(COMMENT))
                    elif stream.is_over:
                        self._is_ended = True
                        await send(_piece(b"", more=False))
                        break
                    else:
                        self._waiter = asyncio.get_running_loop().create_future()
                        await self._waiter
        finally:
            stream.detach(self, len(piece))
            if watcher is not None:
                watcher.cancel()
            if self.on_end is not None:
                self.on_end()
        if not self._is_ended and not self._is_gone:
            await _say_goodbye(send)

    def beat(self, now: float, silence: float) -> None:
        """Say that the stream is there, if nothing else has said so for a while."""
        if now - self._wrote_at > silence and self._waiter is not None:
            self._beats = True
            self.wake()

    async def _watch(self, receive: Receive) -> None:
        """Learn that the client is gone: servers tell nobody who merely sends."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._lose()

    def _lose(self) -> None:
        self._is_gone = True
        self.leave()


async def _say_goodbye(send: Send) -> None:
    """End the answer of a reader that was sent away, if its client takes it."""
    with suppress(OSError):
        async with asyncio.timeout(_LAST_WORD):
            await send(_piece(b"", more=False))


def _start(headers: Iterable[Header]) -> dict[str, object]:
    return {"type": "http.response.start", "status": 200, "headers": [*HEADERS, *headers]}


def _piece(body: bytes, *, more: bool = True) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": more}
