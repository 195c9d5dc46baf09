"""The streams of one connection over HTTP, and the routing of frames to them.

One stream belongs to the connection, each other one to a session. Events are numbered across all
streams (`event_numbering.py`). The route of a response is set when its request arrives. Every other
message goes to the session in its params; nothing else in a frame affects its route. Which methods
belong to a session is in `_stream_routing.py`, the queue of a stream in `event_stream.py`, and the
order of the messages that a client sends in `post_order.py`.

There is no order between streams. Where a message must not overtake another stream (the response to
a load after the updates that it replays, `$/cancel_request` after its request), a peer that
negotiated gets the number of the event to wait for. For a plain peer that reads both streams, the
message is held until the server has accepted the earlier events, at most `AppLimits.hold` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from weakref import WeakSet

from msgspec import UNSET, Struct, UnsetType

from parley._bounded_dict import BoundedDict
from parley.rpc._message import Id
from parley.transport._frame_head import FrameHead, ParamsHead, peek
from parley.transport.http._stream_routing import (
    CANCEL_REQUEST,
    UPDATE_HEAD,
    Scope,
)

from .event_log import EventLog
from .event_numbering import EventNumbering, fits_in_field
from .event_stream import EventStream, EventStreamReader
from .limits import AppLimits, Clock, Timer
from .responses import HttpError
from .send_window import SendWindow

_UPDATE_HEAD_BYTES = len(UPDATE_HEAD)
_MAX_AGENT_REQUESTS = 4096
"""The number of the agent's requests whose route is remembered; peers have fewer open."""


class ResponseRoute(Struct, frozen=True):
    """The route of the response to a request."""

    scope: Scope
    session: str | None
    is_new: bool = False
    """Whether the session was unknown before the request."""
    opens: bool = False
    """Whether the response names another session."""


class StreamRouter:
    """A `FrameSink` that routes the agent's frames to event streams."""

    def __init__(
        self,
        *,
        limits: AppLimits,
        clock: Clock,
        log: EventLog | None,
        is_negotiated: bool,
    ) -> None:
        """Create the router of a connection.

        Args:
            limits: Limits of the streams.
            clock: The source of time.
            log: Stores sent events for readers that reconnect; None if the client cannot resume.
            is_negotiated: Whether the client knows the fields `after` and `end`.
        """
        self._limits = limits
        self._clock = clock
        self._log = log
        self._is_negotiated = is_negotiated
        self.on_overflow: Callable[[], None] | None = None
        """Called when the streams together hold more than `AppLimits.connection_bytes`."""
        self._send_window = SendWindow(
            limits.stream_bytes, limits.connection_bytes, self._window_reopened
        )
        self.stream = EventStream(None, self._send_window, log)
        """The stream of the connection, for messages that belong to no session."""
        self.sessions: dict[str, EventStream] = {}
        """The streams of the sessions that are known on this connection."""
        self._opening_count = 0
        self._streams_by_key: dict[bytes, EventStream] = {}
        self._last_stream = self.stream
        self._numbering = EventNumbering()
        self._routes: dict[Id, ResponseRoute] = {}
        self._agent_requests: BoundedDict[Id, str | None] = BoundedDict(_MAX_AGENT_REQUESTS)
        self._held_frames: dict[object, Callable[[], None]] = {}
        self._heartbeat_timer: Timer | None = None
        self._released_tasks: WeakSet[asyncio.Task[object]] = WeakSet()
        self._initialize_response: tuple[Id, asyncio.Future[bytes]] | None = None

    @property
    def in_flight(self) -> int:
        """The number of client requests that wait for a response."""
        return len(self._routes)

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes that wait for readers."""
        return self._send_window.bytes

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame on its stream."""
        if frame.startswith(UPDATE_HEAD):
            key = frame[_UPDATE_HEAD_BYTES : frame.find(b'"', _UPDATE_HEAD_BYTES)]
            stream = self._streams_by_key.get(key) or self._find_update_stream(frame, key, head)
            self._put(stream, frame)
        else:
            self._route(frame, peek(frame) if head is None else head)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more to the stream of the last frame, or None.

        A task that has waited for one stream and calls this again does not have to wait for
        another stream that a different task has written to in the meantime.
        """
        stream = self._last_stream
        if not stream.is_full:
            return None
        task = asyncio.current_task()
        if task is not None and task in self._released_tasks:
            self._released_tasks.discard(task)
            return None
        waiter = stream.wait()
        if task is not None:
            waiter.add_done_callback(lambda done: self._mark_released(task, done))
        return waiter

    async def flush(self) -> None:
        """Wait until every stream with a reader is empty."""
        for release in list(self._held_frames.values()):
            release()
        loop = asyncio.get_running_loop()
        sent: list[asyncio.Future[None]] = []
        for stream in (self.stream, *self.sessions.values()):
            if stream.reader is not None and stream.unsent_bytes:
                sent.append(loop.create_future())
                stream.when_sent(partial(_resolve, sent[-1]))
        if sent:
            await asyncio.wait(sent)

    def end(self, reason: str) -> None:
        """End all streams; a peer that could reconnect gets the reason as a final event."""
        for release in list(self._held_frames.values()):
            release()
        if self._is_negotiated:
            event = self._numbering.encode_end(reason)
            self.stream.put(self._numbering.last, event)
        for stream in (self.stream, *self.sessions.values()):
            stream.end()
        if self._heartbeat_timer is not None:
            self._heartbeat_timer.cancel()
        if self._initialize_response is not None and not self._initialize_response[1].done():
            self._initialize_response[1].cancel()

    def disconnect(self) -> None:
        """Disconnect the readers that have not read to the end."""
        for stream in (self.stream, *self.sessions.values()):
            if stream.reader is not None:
                stream.reader.cancel()

    def initialize_response(self, id: Id) -> asyncio.Future[bytes]:
        """Return a future for the response to `initialize`, which goes to no stream.

        It is cancelled if the connection ends first.
        """
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._initialize_response = (id, future)
        return future

    @property
    def open_sessions(self) -> int:
        """The number of sessions that are open, or being opened."""
        return len(self.sessions) + self._opening_count

    def expect_response(self, id: Id, scope: Scope, session: str | None, *, opens: bool) -> None:
        """Store the route of the response to a client request.

        Args:
            id: The id of the request.
            scope: The scope of its method.
            session: The session that it names.
            opens: Whether its response names another session.
        """
        stream = None if session is None else self.sessions.get(session)
        is_new = session is not None and (stream is None or not stream.is_claimed)
        if id not in self._routes:
            self._routes[id] = ResponseRoute(scope, session, is_new, opens)
            self._opening_count += opens

    def agent_request_session(self, id: Id) -> str | None:
        """Return the session of a request from the agent; None if it has none."""
        return self._agent_requests.get(id)

    def forget_agent_request(self, id: Id) -> None:
        """Forget a request from the agent that the client has responded to."""
        self._agent_requests.pop(id, None)

    def claim(self, session: str) -> EventStream:
        """Return the stream of a session that a message has named; create it if necessary."""
        stream = self.sessions.get(session)
        if stream is None:
            stream = self.sessions[session] = EventStream(session, self._send_window, self._log)
        self._keep(stream)
        return stream

    def open(self, session: str | None, cursor: int | None) -> EventStreamReader:
        """Create a reader for a stream.

        Args:
            session: The session of the stream; None for the connection's own.
            cursor: The number of the last event that the client has seen, if it reconnects.

        Raises:
            HttpError: The cursor is invalid, the stream has a reader, or a limit is reached.
        """
        if cursor is not None and cursor > self._numbering.last:
            raise HttpError(400, "bad_cursor", "No event with that number has been sent")
        stream = self.stream if session is None else self.sessions.get(session)
        if stream is None:
            assert session is not None
            stream = self._open_unclaimed(session)
        if self._heartbeat_timer is None:
            self._heartbeat_timer = self._clock.call_later(
                self._limits.keep_alive / 2, self._send_heartbeats
            )
        return stream.attach(cursor, self._clock)

    def _send_heartbeats(self) -> None:
        """Send keep-alive comments on silent streams, all of them at once."""
        half, now = self._limits.keep_alive / 2, self._clock.time()
        session_silence = max(half, self._limits.session_keep_alive - half)
        sessions = [stream.reader for stream in self.sessions.values() if stream.reader is not None]
        for reader in sessions:
            reader.heartbeat(now, session_silence)  # one tick early: no silence exceeds the limit
        if self.stream.reader is not None:
            self.stream.reader.heartbeat(now, half)
        is_read = bool(sessions) or self.stream.reader is not None
        self._heartbeat_timer = (
            self._clock.call_later(half, self._send_heartbeats) if is_read else None
        )

    def _open_unclaimed(self, session: str) -> EventStream:
        """Create a stream for a session that is about to be loaded; it ends if it is not."""
        unclaimed = sum(not stream.is_claimed for stream in self.sessions.values())
        if unclaimed >= self._limits.unclaimed:
            raise HttpError(
                429,
                "too_many_streams",
                "Too many streams are open for sessions that no message has named yet",
            )
        stream = self.sessions[session] = EventStream(session, self._send_window, self._log)
        stream.is_claimed = False
        stream.end_timer = self._clock.call_later(self._limits.claim, self._end_stream, stream)
        return stream

    def _keep(self, stream: EventStream) -> None:
        stream.is_claimed = True
        if stream.end_timer is not None:
            stream.end_timer.cancel()
            stream.end_timer = None

    def _end_stream(self, stream: EventStream) -> None:
        assert stream.session is not None
        if self.sessions.get(stream.session) is stream:
            del self.sessions[stream.session]
            if stream.key is not None:
                del self._streams_by_key[stream.key]
            stream.end_timer = None
            stream.end()

    def _mark_released(self, task: asyncio.Task[object], done: asyncio.Future[None]) -> None:
        if not done.cancelled():
            self._released_tasks.add(task)

    def _window_reopened(self) -> None:
        """Wake the writers that waited because all streams together held too much."""
        for stream in (self.stream, *self.sessions.values()):
            stream.wake_writers()

    def _put(self, stream: EventStream, frame: bytes) -> None:
        numbering = self._numbering
        event = numbering.encode(frame)
        self._last_stream = stream
        stream.put(numbering.last, event)
        if self._send_window.bytes > self._limits.connection_bytes and self.on_overflow is not None:
            self.on_overflow()

    def _find_update_stream(self, frame: bytes, key: bytes, head: FrameHead | None) -> EventStream:
        """Find the stream of an update, and remember the encoded form of its session id."""
        session = _session((peek(frame) if head is None else head).params)
        if session is None:
            return self.stream
        stream = self._named_stream(session)
        if b"\\" not in key and stream.key is None:
            stream.key = key
            self._streams_by_key[key] = stream
        return stream

    def _named_stream(self, session: str) -> EventStream:
        """Return the stream of a session that the agent names, without cancelling its end."""
        stream = self.sessions.get(session)
        if stream is None or not stream.is_claimed:
            return self.claim(session)
        return stream

    def _route(self, frame: bytes, head: FrameHead) -> None:
        """Route any frame that is not a plain session update."""
        if head.method is UNSET:
            self._route_response(frame, head)
            return
        params = head.params
        session = _session(params)
        if head.method == CANCEL_REQUEST and params.request_id is not UNSET:
            self._put_after(self._agent_requests.get(params.request_id), frame)
            return
        if head.id is not UNSET:
            self._agent_requests[head.id] = session
        self._put(self.stream if session is None else self._named_stream(session), frame)

    def _route_response(self, frame: bytes, head: FrameHead) -> None:
        """Route a response by the route that its request has set."""
        id: Id = None if head.id is UNSET else head.id
        if self._initialize_response is not None and self._initialize_response[0] == id:
            future, self._initialize_response = self._initialize_response[1], None
            if not future.done():
                future.set_result(frame)
            return
        route = self._routes.pop(id, None)
        if route is None or route.scope == "connection":
            self._put(self.stream, frame)
            return
        self._opening_count -= route.opens
        if route.scope in ("session", "extension"):
            assert route.session is not None
            stream = self._named_stream(route.session)
            is_unread = stream.reader is None and not stream.last_number
            if route.scope == "extension" and route.is_new and is_unread:
                # The client has never opened the session here, and may not intend to: an unknown
                # method with a `sessionId` need not be about a session that exists.
                stream = self.stream
            self._put(stream, frame)
        else:
            if (session := _session(head.result)) is not None:
                self.claim(session)  # before the client can open its stream
            self._put_after(route.session, frame)
        self._schedule_end(route, is_error=head.result is UNSET)

    def _schedule_end(self, route: ResponseRoute, *, is_error: bool) -> None:
        """Schedule the end of the stream if its session was closed, or could not be loaded."""
        stream = None if route.session is None else self.sessions.get(route.session)
        if stream is None or stream.end_timer is not None:
            return
        if (route.scope == "closing" and not is_error) or (is_error and route.is_new):
            stream.end_timer = self._clock.call_later(self._limits.leave, self._end_stream, stream)

    def _put_after(self, session: str | None, frame: bytes) -> None:
        """Queue a frame on the connection's stream that must not overtake a session's stream."""
        stream = None if session is None else self.sessions.get(session)
        if stream is None or session is None or not stream.last_number:
            self._put(self.stream, frame)
        elif self._is_negotiated and fits_in_field(session):
            event = self._numbering.encode_after(frame, stream.last_number, session)
            self._last_stream = self.stream
            self.stream.put(self._numbering.last, event)
        elif stream.reader is not None and stream.unsent_bytes:
            self._hold_frame(stream, frame)
        else:
            self._put(self.stream, frame)

    def _hold_frame(self, stream: EventStream, frame: bytes) -> None:
        """Hold a frame back until the session's stream is sent, or a timeout has passed."""
        token = object()

        def release() -> None:
            if self._held_frames.pop(token, None) is not None:
                timer.cancel()
                self._put(self.stream, frame)

        self._held_frames[token] = release
        timer = self._clock.call_later(self._limits.hold, release)
        stream.when_sent(release)
        self._last_stream = self.stream


def _session(head: ParamsHead | UnsetType) -> str | None:
    """Return the session that params or a result name; None if it is missing or empty."""
    return None if head is UNSET else head.session_id or None


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
