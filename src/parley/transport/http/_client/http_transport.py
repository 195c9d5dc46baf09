"""A connection to a remote agent over Streamable HTTP: frames out by POST, frames in by streams.

Theory of operation. The first frame is `initialize`; the HTTP response to its POST contains the
agent's response and the id of the connection. From then on the transport reads the connection's
stream and one stream per session. A session's stream is opened when a response names a new session,
or before a session is loaded or resumed, and closed when the session is closed. A server that
supports WebSocket only is recognized by how it responds to the first POST; the transport then
switches to WebSocket.

A Parley server says in its first response that it can resume, and for how long it waits. Then a
lost network connection does not end this one: streams resume after the last event, frames are sent
again under the same numbers, and the user of the transport does not notice, except through
`on_state`. The connection is lost for good when the server is unreachable for longer than it
waits, or no longer has the missed events. With any other server, it is lost with the first stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Unpack

from parley._task_owner import TaskOwner
from parley.errors import (
    ConnectFailed,
    ConnectionClosed,
    RemoteProtocolError,
    TransportError,
    Unauthorized,
)
from parley.rpc._framing import Frame, LineBlock
from parley.transport._base import MAX_MESSAGE_BYTES, Receiver, deliver_frames
from parley.transport._frame_head import FrameHead
from parley.transport.http._backoff import RETRY_AFTER, Backoff
from parley.transport.http._negotiation import (
    CONNECTION_ID,
    PROTOCOL_VERSION,
    RESUME,
    SESSION_ID,
)

from .address import KEEP_ALIVE_AFTER, Address, RemoteOptions
from .connection_pool import CONNECT_TIMEOUT, HttpConnectionPool
from .event_parser import EventParser, parse_id
from .frame_tracker import (
    FrameRoute,
    FrameTracker,
    SessionEvent,
    is_updates,
    messages_in,
    negotiated_version,
)
from .http_errors import (
    connect_error,
    connection_ended,
    error_reply,
    parse_reason,
    read_reason,
    resume_refused,
)
from .post_queue import PostQueue
from .reconnect import ReconnectState
from .response import Headers, Response
from .subscription import Subscription
from .websocket_transport import WebSocketTransport

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 2.0
_JSON = (b"content-type", b"application/json")
_ACCEPT = (b"accept", b"application/json, text/event-stream")
_WEBSOCKET_ONLY_STATUSES = (400, 404, 405, 406, 426, 501)
"""The statuses with which a server that supports WebSocket only may respond to a POST."""


class HttpTransport:
    """A connection to an agent at an `http://` or `https://` URL.

    Create one with `open`. Call `start` with the receiver of the inbound frames, `send` for each
    outbound frame, and `aclose` at the end.
    """

    def __init__(self, address: Address, options: RemoteOptions) -> None:
        self._address = address
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._max_bytes = options.get("max_message_bytes", MAX_MESSAGE_BYTES)
        self._pool = HttpConnectionPool(
            address,
            connect_timeout=options.get("connect_timeout", CONNECT_TIMEOUT),
            keep_alive_after=options.get("keep_alive_after", KEEP_ALIVE_AFTER),
        )
        self._reconnect_state = ReconnectState(options.get("on_state"), self.end)
        self._tracker = FrameTracker()
        self._receiver: Receiver | None = None
        self._id = b""
        self._connection_headers: Headers = []
        self._streams: dict[str, Subscription] = {}
        self.tasks = TaskOwner(address.shown, expected=(TransportError,))
        """The tasks that send, read and reconnect."""
        self._early_frames: list[tuple[bytes, FrameHead | None]] = []
        self._has_sent_initialize = False
        self._fallback: WebSocketTransport | None = None
        self._is_closing = False
        self._lost: ConnectionClosed | None = None
        self.refusal: ConnectFailed | None = None
        """Why the server did not accept the connection, if it did not."""
        self.resumes = False
        """Whether the server keeps the events that are missed during an interruption."""
        self.is_paused = False
        """Whether reading is paused."""
        self._posts = PostQueue(self, self._pool, address.path)

    @classmethod
    async def open(cls, url: str, **options: Unpack[RemoteOptions]) -> HttpTransport:
        """Connect to a server.

        Raises:
            ConnectFailed: The server cannot be reached, or an option is invalid; the message says
                what to do.
        """
        transport = cls(Address(url, options), options)
        try:
            await transport._pool.connect()
        except BaseException:  # also when cancelled: do not leave a socket open
            await transport._pool.aclose()
            raise
        return transport

    @property
    def http_version(self) -> str:
        """The HTTP version in use: "2" or "1.1"."""
        return self._pool.http_version

    @property
    def gone_status(self) -> int | None:
        """The status with which the server refused to resume, if it did.

        404: it does not know the connection; 410: it no longer has the missed events.
        """
        return (
            self._reconnect_state.gone_status
            if self._fallback is None
            else self._fallback.gone_status
        )

    def start(self, receiver: Receiver) -> None:
        """Deliver inbound frames to this receiver from now on."""
        self._receiver = receiver
        if self._fallback is not None:
            self._fallback.start(receiver)
        elif self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame; the messages of a batch are sent one by one, as servers reject arrays.

        Raises:
            ConnectionClosed: The connection is lost or closed.
        """
        if self._fallback is not None:
            self._fallback.send(frame, head)
            return
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        for message in messages_in(frame) if head is None else (frame,):
            if not self._has_sent_initialize:
                self._has_sent_initialize = True
                self.tasks.create_task(self._initialize(message))
            elif not self._id:
                self._early_frames.append((message, head))
            else:
                self._queue_frame(message, head)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more, or None."""
        return self._posts.drained() if self._fallback is None else self._fallback.drained()

    def pause_reading(self) -> None:
        """Pause reading; the server has to wait once the flow control windows are full."""
        self.is_paused = True
        if self._fallback is not None:
            self._fallback.pause_reading()
        for stream in self._streams.values():
            stream.pause()

    def resume_reading(self) -> None:
        """Resume reading."""
        self.is_paused = False
        if self._fallback is not None:
            self._fallback.resume_reading()
        for stream in list(self._streams.values()):
            if not self.is_paused:
                stream.resume()

    async def aclose(self) -> None:
        """Send the queued frames, within a timeout, and end the connection on the server too."""
        try:
            if self._fallback is not None:
                await self._fallback.aclose()
            else:
                await self._close_connection()
        finally:
            await self._pool.aclose()
            await self.tasks.aclose(_CLOSE_TIMEOUT)

    async def _close_connection(self) -> None:
        self._is_closing = True
        try:
            with suppress(TimeoutError, TransportError):
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    if self._lost is None:
                        await self._posts.flush()
                    await self._delete()
        finally:
            self.end(ConnectionClosed("the connection was closed by us"))

    async def _delete(self) -> None:
        if self._id and self.gone_status is None:
            response = await self._pool.request(
                "DELETE", self._address.path, self._connection_headers
            )
            response.cancel()

    # Initialization.

    async def _initialize(self, frame: bytes) -> None:
        """Send the first frame, `initialize`, and set up the connection from the response."""
        headers = [_JSON, _ACCEPT, (RESUME, b"1")]
        try:
            response = await self._pool.request("POST", self._address.path, headers, frame)
            if response.status in _WEBSOCKET_ONLY_STATUSES and await self._fall_back_to_websocket(
                frame
            ):
                response.cancel()
                return
            body = await response.read(self._max_bytes)
        except TransportError as error:
            if not await self._fall_back_to_websocket(frame):
                self._fail_initialize(
                    ConnectFailed(f"{self._address.shown} does not respond: {error}")
                )
            return
        except RemoteProtocolError as error:
            self._fail_initialize(ConnectFailed(f"{self._address.shown}: {error}"))
            return
        if response.status != 200 or not response.header(CONNECTION_ID):
            reason = parse_reason(response, body)
            self._fail_initialize(connect_error(self._address.shown, response.status, reason), body)
            return
        self._initialized(response, body)
        self.deliver(None, [body], 0)
        self._subscribe("")
        for early_frame in self._early_frames:
            self._queue_frame(*early_frame)
        self._early_frames.clear()
        self._posts.open()

    def _initialized(self, response: Response, body: bytes) -> None:
        self._id = response.header(CONNECTION_ID).encode("latin-1")
        self._connection_headers = [(CONNECTION_ID, self._id)]
        if (version := negotiated_version(body)) is not None:
            self._connection_headers.append((PROTOCOL_VERSION, b"%d" % version))
        self.resumes = self._reconnect_state.negotiated(response.header(RESUME))

    def _fail_initialize(self, refusal: ConnectFailed, body: bytes = b"") -> None:
        """Fail the initialization; deliver the body first if it is a JSON-RPC response."""
        if body.startswith(b'{"jsonrpc"') and not isinstance(refusal, Unauthorized):
            self.deliver(None, [body], 0)
        self.refusal = refusal
        self.end(ConnectionClosed(str(refusal)))

    async def _fall_back_to_websocket(self, frame: bytes) -> bool:
        """Switch to WebSocket; return False if the server does not support it either."""
        other = WebSocketTransport(self._address, self._options, self._pool.cookies)
        try:
            await other.connect()
        except TransportError:
            return False
        if self._lost is not None:
            await other.aclose()
            return True
        self._fallback = other
        if self._receiver is not None:
            other.start(self._receiver)
        if self.is_paused:
            other.pause_reading()
        for each in (frame, *(early_frame for early_frame, _ in self._early_frames)):
            other.send(each)
        await self._pool.aclose()
        return True

    # Called by `Subscription` and `PostQueue`.

    def backoff(self) -> Backoff:
        """Return a new backoff with the configured first wait."""
        return Backoff(self._options.get("retry_after", RETRY_AFTER))

    def parser(self) -> EventParser:
        """Return a new event parser."""
        return EventParser(self._max_bytes)

    async def open_stream(self, session: str, headers: Headers) -> Response:
        """Request the event stream of a session, or of the connection if it is empty."""
        return await self._pool.request(
            "GET", self._address.path, [*headers, *self._routing_headers(session)]
        )

    def post_headers(self, session: str) -> Headers:
        """Return the headers of a POST."""
        return [_JSON, *self._routing_headers(session)]

    def prepare(self, route: FrameRoute) -> asyncio.Future[bool] | None:
        """Subscribe to a session that is about to be loaded, and return a future for its stream."""
        stream = self._subscribe(route.session)
        stream.expect_replay()
        return stream.opened

    def mark_interrupted(self, part: object, text: str) -> None:
        """Mark a stream or the queue of POSTs as interrupted."""
        self._reconnect_state.mark_interrupted(part, text)

    def mark_reconnected(self, part: object) -> None:
        """Mark a stream or the queue of POSTs as reconnected."""
        self._reconnect_state.mark_reconnected(part)

    async def wait_before_retry(self, seconds: float) -> None:
        """Wait before reopening a stream; return early when another part reconnects."""
        await self._reconnect_state.wait_before_retry(seconds)

    def deliver(self, stream: Subscription | None, frames: Sequence[Frame], size: int) -> None:
        """Deliver frames to the receiver, and open or close session streams accordingly.

        Args:
            stream: The stream they arrived on; None for the response to a POST.
            frames: The frames.
            size: The number of lines if they are a `LineBlock`.
        """
        if self._lost is not None or self._receiver is None:
            return
        session = "" if stream is None else stream.session
        session_events: list[SessionEvent] = []
        if not (isinstance(frames, LineBlock) and is_updates(frames.block, size)):
            tracked = [(self._tracker.inbound(frame, session), frame) for frame in frames]
            if stream is not None and not self.resumes and not session:
                frames = [
                    frame
                    for events, frame in tracked
                    if not self._must_wait_for_replay(events, frame)
                ]
            session_events = [event for events, _ in tracked for event in events]
        if frames:
            deliver_frames(self._receiver, frames, self.end)
        for event in session_events:
            self._apply_session_event(event)

    def deliver_after(self, stream: Subscription, frame: Frame, after: bytes) -> None:
        """Deliver a frame after the event that it must not overtake, on another stream."""
        number, _, session = after.partition(b" ")
        other = self._streams.get(session.decode("utf-8", "replace"))
        if other is None or not other.hold_until(parse_id(number), frame):
            self.deliver(stream, [frame], 0)

    def _must_wait_for_replay(self, events: list[SessionEvent], frame: Frame) -> bool:
        """Hold back the response to a load while the session's stream may still bring its replay.

        Other servers than ours send it on the connection's stream, unordered with the replay.
        """
        loaded = (self._streams.get(each.session) for each in events if each.kind == "loaded")
        return any(each is not None and each.hold_until_silence(frame) for each in loaded)

    def _apply_session_event(self, event: SessionEvent) -> None:
        if self._lost is not None:
            return
        if event.kind == "opened" or (
            event.kind == "loaded" and event.session not in self._streams
        ):
            self._subscribe(event.session)
        elif event.kind != "loaded" and event.session in self._streams:
            self._streams.pop(event.session).stop()

    def server_ended(self, reason: str) -> None:
        """Record that the server has ended the connection; other streams may still deliver."""
        self._reconnect_state.server_ended(connection_ended(self._address.shown, reason))

    def has_ended(self, stream: Subscription) -> bool:
        """Return whether the server has ended the connection, so that the stream is not reopened.

        The connection is lost when its last stream is over.
        """
        end_reason = self._reconnect_state.end_reason
        if end_reason is not None:
            self._streams.pop(stream.session, None)
            stream.stop()
            if not self._streams:
                self.end(end_reason)
        return end_reason is not None

    async def stream_refused(
        self, stream: Subscription, response: Response
    ) -> ConnectionClosed | None:
        """Return why a refused stream ends the connection; None if it does not."""
        reason = await read_reason(response)
        if response.status == 404 and stream.is_unknown_to_server:
            self._streams.pop(stream.session, None)  # will be opened once it is loaded
            return None
        return self._closed_by_status(response.status, reason)

    def frame_refused(self, route: FrameRoute, status: int, reason: str) -> None:
        """Fail the request whose frame the server refused, or end the connection."""
        self._tracker.forget(route)
        if status in (401, 403, 404, 410):
            self.end(self._closed_by_status(status, reason))
        elif route.is_request:
            self.deliver(None, [error_reply(route, status, reason)], 0)
        else:
            logger.warning("the server refused %s (%d)", route.method or "a response", status)

    def end(self, reason: ConnectionClosed) -> None:
        """End the connection and notify the receiver; later calls do nothing."""
        if self._lost is not None:
            return
        self._lost = reason
        self._posts.stop()
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.stop()
        self._reconnect_state.close(str(reason), is_ours=self._is_closing)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)

    # Internals.

    def _queue_frame(self, frame: bytes, head: FrameHead | None) -> None:
        route = self._tracker.outbound(frame, head)
        if route.is_sendable:
            self._posts.put(frame, route)
        else:
            self._loop.call_soon(
                self.frame_refused, route, 400, "the session id cannot be sent in a header"
            )

    def _routing_headers(self, session: str) -> Headers:
        return (
            [*self._connection_headers, (SESSION_ID, session.encode())]
            if session
            else self._connection_headers
        )

    def _subscribe(self, session: str) -> Subscription:
        stream = self._streams.get(session)
        if stream is None:
            stream = self._streams[session] = Subscription(self, session)
            stream.start()
        return stream

    def _closed_by_status(self, status: int, reason: str) -> ConnectionClosed:
        self._reconnect_state.gone_status = status if status in (404, 410) else None
        return resume_refused(self._address.shown, status, reason)
