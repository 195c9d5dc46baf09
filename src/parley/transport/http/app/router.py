"""The streams of one connection over HTTP, and which frame goes to which of them.

One stream is the connection's, the others belong to a session each. Events are numbered over all of
them. The route of an answer was set when its request came; that of everything else is the session
in its params, and nothing else in a frame has a say in it.

Streams are in no order to each other. Where one message must not overtake those of another stream
(the answer to a load behind what it replays, `$/cancel_request` behind its request), a peer that
negotiated is told the number to wait for. For a plain peer that reads both streams the message is
held until the server has taken what was before it, at most `AppLimits.hold` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from weakref import WeakSet

from msgspec import UNSET, Struct, UnsetType

from parley.bounded import Bounded
from parley.rpc.message import Id
from parley.transport.http.limits import Room
from parley.transport.http.scopes import CANCEL_REQUEST, UPDATE_HEAD, Head, Params, Scope, read_head

from .answers import Refused
from .limits import AppLimits, Clock, Timer
from .log import EventLog
from .sse import can_be_named, ending, event, event_after
from .streams import Reader, Stream

__all__ = ["Route", "Router"]

_HEAD_BYTES = len(UPDATE_HEAD)
_MAX_ASKED = 4096
"""Of so many requests of the agent's it is known where they went; peers have fewer open."""


class Route(Struct, frozen=True):
    """Where the answer to a request goes."""

    scope: Scope
    session: str | None
    is_new: bool = False
    """Whether the session was not known before the request."""
    opens: bool = False
    """Whether the answer names a further session."""


class Router:
    """Takes the agent's frames; an `Outlet`."""

    def __init__(
        self,
        *,
        limits: AppLimits,
        clock: Clock,
        log: EventLog | None,
        is_negotiated: bool,
    ) -> None:
        """Make the streams of a connection.

        Args:
            limits: What they hold.
            clock: What time it is.
            log: Keeps what was sent; None where nobody comes back.
            is_negotiated: Whether the client knows the fields `after` and `end`.
        """
        self._limits = limits
        self._clock = clock
        self._log = log
        self._is_negotiated = is_negotiated
        self.on_overflow: Callable[[], None] | None = None
        """Is called when more waits on all streams than may."""
        self._room = Room(limits.stream_bytes, limits.connection_bytes, self._relieved)
        self.stream = Stream(None, self._room, log)
        """What belongs to no session."""
        self.sessions: dict[str, Stream] = {}
        """The streams of the sessions that are known on this connection."""
        self._opening = 0
        self._by_key: dict[bytes, Stream] = {}
        self._last = self.stream
        self._n = 0
        self._routes: dict[Id, Route] = {}
        self._asked: Bounded[Id, str | None] = Bounded(_MAX_ASKED)
        self._held: dict[object, Callable[[], None]] = {}
        self._ticker: Timer | None = None
        self._released: WeakSet[asyncio.Task[object]] = WeakSet()
        self._first: tuple[Id, asyncio.Future[bytes]] | None = None

    @property
    def in_flight(self) -> int:
        """How many requests of the client's wait for an answer."""
        return len(self._routes)

    @property
    def unsent_bytes(self) -> int:
        """How much waits for those who read."""
        return self._room.bytes

    def send(self, frame: bytes) -> None:
        """Put a frame on its stream."""
        if frame.startswith(UPDATE_HEAD):
            key = frame[_HEAD_BYTES : frame.find(b'"', _HEAD_BYTES)]
            self._put(self._by_key.get(key) or self._learn(frame, key), frame)
        else:
            self._route(frame, read_head(frame))

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for where the last frame went.

        Who has waited for one stream and asks again is not made to wait for another, to which
        somebody else has sent in the meantime.
        """
        stream = self._last
        if not stream.is_full:
            return None
        task = asyncio.current_task()
        if task is not None and task in self._released:
            self._released.discard(task)
            return None
        waiter = stream.wait()
        if task is not None:
            waiter.add_done_callback(lambda done: self._let_go(task, done))
        return waiter

    async def flush(self) -> None:
        """Wait until every stream that is read is empty."""
        for release in list(self._held.values()):
            release()
        loop = asyncio.get_running_loop()
        sent: list[asyncio.Future[None]] = []
        for stream in (self.stream, *self.sessions.values()):
            if stream.reader is not None and stream.unsent_bytes:
                sent.append(loop.create_future())
                stream.when_sent(partial(_finish, sent[-1]))
        if sent:
            await asyncio.wait(sent)

    def end(self, why: str) -> None:
        """End all streams; a peer that would come back is told that there is no way back."""
        for release in list(self._held.values()):
            release()
        if self._is_negotiated:
            self._n += 1
            self.stream.put(self._n, ending(self._n, why))
        for stream in (self.stream, *self.sessions.values()):
            stream.end()
        if self._ticker is not None:
            self._ticker.cancel()
        if self._first is not None and not self._first[1].done():
            self._first[1].cancel()

    def cut(self) -> None:
        """Send away those who have not taken the end."""
        for stream in (self.stream, *self.sessions.values()):
            if stream.reader is not None:
                stream.reader.leave()

    def first_answer(self, id: Id) -> asyncio.Future[bytes]:
        """Return what will be the answer to initialize; it goes to no stream."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._first = (id, future)
        return future

    @property
    def open_sessions(self) -> int:
        """How many sessions are open, or being opened."""
        return len(self.sessions) + self._opening

    def expect(self, id: Id, scope: Scope, session: str | None, *, opens: bool) -> None:
        """Remember where the answer to a request of the client's goes.

        Args:
            id: Of the request.
            scope: Where it belongs.
            session: The one that it names.
            opens: Whether its answer names a further one.
        """
        stream = None if session is None else self.sessions.get(session)
        is_new = session is not None and (stream is None or not stream.is_claimed)
        if id not in self._routes:
            self._routes[id] = Route(scope, session, is_new, opens)
            self._opening += opens

    def asked_session(self, id: Id) -> str | None:
        """Return the session in which the agent has made a request; None if in none."""
        return self._asked.get(id)

    def answered(self, id: Id) -> None:
        """Forget a request of the agent's that the client has answered."""
        self._asked.pop(id, None)

    def claim(self, session: str) -> Stream:
        """Return the stream of a session that a client or the agent has named."""
        stream = self.sessions.get(session)
        if stream is None:
            stream = self.sessions[session] = Stream(session, self._room, self._log)
        self._stay(stream)
        return stream

    def open(self, session: str | None, cursor: int | None) -> Reader:
        """Give a stream to a reader.

        Raises:
            Refused: It is not to be had.
        """
        if cursor is not None and cursor > self._n:
            raise Refused(400, "bad_cursor", "There has been no event with that number")
        stream = self.stream if session is None else self.sessions.get(session)
        if stream is None:
            assert session is not None
            stream = self._prepare(session)
        if self._ticker is None:
            self._ticker = self._clock.call_later(self._limits.keep_alive / 2, self._tick)
        return stream.attach(cursor, self._clock)

    def _tick(self) -> None:
        """Have silent streams say that they are there, those of a connection together."""
        half, now = self._limits.keep_alive / 2, self._clock.time()
        rarely = max(half, self._limits.session_keep_alive - half)
        sessions = [stream.reader for stream in self.sessions.values() if stream.reader is not None]
        for reader in sessions:
            reader.beat(now, rarely)  # so that no silence is longer than the whole
        if self.stream.reader is not None:
            self.stream.reader.beat(now, half)
        is_read = bool(sessions) or self.stream.reader is not None
        self._ticker = self._clock.call_later(half, self._tick) if is_read else None

    def _prepare(self, session: str) -> Stream:
        """Make a stream for a session that will be loaded; it ends if nobody does."""
        unclaimed = sum(not stream.is_claimed for stream in self.sessions.values())
        if unclaimed >= self._limits.unclaimed:
            raise Refused(429, "too_many_streams", "Too many streams wait for their sessions")
        stream = self.sessions[session] = Stream(session, self._room, self._log)
        stream.is_claimed = False
        stream.leaving = self._clock.call_later(self._limits.claim, self._forget, stream)
        return stream

    def _stay(self, stream: Stream) -> None:
        stream.is_claimed = True
        if stream.leaving is not None:
            stream.leaving.cancel()
            stream.leaving = None

    def _forget(self, stream: Stream) -> None:
        assert stream.session is not None
        if self.sessions.get(stream.session) is stream:
            del self.sessions[stream.session]
            if stream.key is not None:
                del self._by_key[stream.key]
            stream.leaving = None
            stream.end()

    def _let_go(self, task: asyncio.Task[object], done: asyncio.Future[None]) -> None:
        if not done.cancelled():
            self._released.add(task)

    def _relieved(self) -> None:
        """Let those go on who waited because there was too much on all streams."""
        for stream in (self.stream, *self.sessions.values()):
            stream.look()

    def _put(self, stream: Stream, frame: bytes) -> None:
        self._n = n = self._n + 1
        self._last = stream
        stream.put(n, event(n, frame))
        if self._room.bytes > self._limits.connection_bytes and self.on_overflow is not None:
            self.on_overflow()

    def _learn(self, frame: bytes, key: bytes) -> Stream:
        """Find the stream of an update, and remember how its session is written."""
        session = _session(read_head(frame).params)
        if session is None:
            return self.stream
        stream = self._named(session)
        if b"\\" not in key and stream.key is None:
            stream.key = key
            self._by_key[key] = stream
        return stream

    def _named(self, session: str) -> Stream:
        """Return the stream of a session that the agent names; one that leaves still does."""
        stream = self.sessions.get(session)
        if stream is None or not stream.is_claimed:
            return self.claim(session)
        return stream

    def _route(self, frame: bytes, head: Head) -> None:
        if head.method is UNSET:
            self._answer(frame, head)
            return
        params = head.params
        session = _session(params)
        if head.method == CANCEL_REQUEST and params is not UNSET and params.request_id is not UNSET:
            self._put_behind(self._asked.get(params.request_id), frame)
            return
        if head.id is not UNSET:
            self._asked[head.id] = session
        self._put(self.stream if session is None else self._named(session), frame)

    def _answer(self, frame: bytes, head: Head) -> None:
        id: Id = None if head.id is UNSET else head.id
        if self._first is not None and self._first[0] == id:
            future, self._first = self._first[1], None
            if not future.done():
                future.set_result(frame)
            return
        route = self._routes.pop(id, None)
        if route is None or route.scope == "connection":
            self._put(self.stream, frame)
            return
        self._opening -= route.opens
        if route.scope == "session":
            assert route.session is not None
            self._put(self._named(route.session), frame)
        else:
            if (session := _session(head.result)) is not None:
                self.claim(session)  # before the client can ask for its stream
            self._put_behind(route.session, frame)
        self._settle(route, is_error=head.result is UNSET)

    def _settle(self, route: Route, *, is_error: bool) -> None:
        """Let go of a session that was not loaded, or that is closed."""
        stream = None if route.session is None else self.sessions.get(route.session)
        if stream is None or stream.leaving is not None:
            return
        if (route.scope == "closing" and not is_error) or (is_error and route.is_new):
            stream.leaving = self._clock.call_later(self._limits.leave, self._forget, stream)

    def _put_behind(self, session: str | None, frame: bytes) -> None:
        """Put a frame on the connection's stream that must not overtake a session's."""
        stream = None if session is None else self.sessions.get(session)
        if stream is None or session is None or not stream.last:
            self._put(self.stream, frame)
        elif self._is_negotiated and can_be_named(session):
            self._n = n = self._n + 1
            self._last = self.stream
            self.stream.put(n, event_after(n, frame, stream.last, session))
        elif stream.reader is not None and stream.unsent_bytes:
            self._hold(stream, frame)
        else:
            self._put(self.stream, frame)

    def _hold(self, stream: Stream, frame: bytes) -> None:
        token = object()

        def release() -> None:
            if self._held.pop(token, None) is not None:
                timer.cancel()
                self._put(self.stream, frame)

        self._held[token] = release
        timer = self._clock.call_later(self._limits.hold, release)
        stream.when_sent(release)
        self._last = self.stream


def _session(params: Params | UnsetType) -> str | None:
    """Return the session that params or a result name; an empty name is none."""
    return None if params is UNSET or params.session_id is UNSET else params.session_id or None


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
