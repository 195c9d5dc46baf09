"""A connection to a remote agent over Streamable HTTP: frames out by POST, frames in by streams.

Theory of operation. The first frame is `initialize`; its POST is answered with the agent's answer
and the id of the connection. From then on the connection's stream is read, and a stream for each
session: opened when an answer names a new session, or before a session is loaded or resumed, let go
of when the session was closed. A server that offers nothing but WebSocket is noticed by how it
answers the first POST, and spoken to that way.

A Parley server says in its first answer that it can resume, and for how long it waits. Then a lost
connection is no end: streams go on where they were, frames are sent again under their numbers, and
whoever uses this transport learns nothing, except from `on_state`. When the server was away for
longer than it waits, or no longer has what was missed, the connection is lost, once. With any other
server it is lost with the first stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Unpack

from parley.errors import (
    ConnectFailed,
    ConnectionClosed,
    RemoteProtocolError,
    TransportError,
    Unauthorized,
)
from parley.rpc.framing import Frame, Lines
from parley.transport.base import MAX_MESSAGE_BYTES, Receiver
from parley.transport.http.backoff import RETRY_AFTER, Backoff
from parley.transport.http.negotiation import CONNECTION_ID, PROTOCOL_VERSION, RESUME, SESSION_ID

from .address import KEEP_ALIVE_AFTER, Address, RemoteOptions
from .events import EventParser, parse_id
from .liaison import Liaison
from .posts import Posts
from .refusals import ended, failure_of, gone, reason_in, reason_of, refusal_of
from .requests import CONNECT_TIMEOUT, HttpClient
from .response import Headers, Response
from .subscription import Subscription
from .tracking import Seen, Tracker, Way, agreed_version, is_updates, messages_in
from .websocket import WebSocketTransport

__all__ = ["HttpTransport"]

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 2.0
_JSON = (b"content-type", b"application/json")
_TAKES = (b"accept", b"application/json, text/event-stream")
_NOT_HERE = (400, 404, 405, 406, 426, 501)
"""How a server may answer a POST that knows WebSocket alone."""


class HttpTransport:
    """One connection to an agent behind `http://` or `https://`; make one with `open`."""

    def __init__(self, address: Address, options: RemoteOptions) -> None:
        self._address = address
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._max_bytes = options.get("max_message_bytes", MAX_MESSAGE_BYTES)
        self._client = HttpClient(
            address,
            connect_timeout=options.get("connect_timeout", CONNECT_TIMEOUT),
            keep_alive_after=options.get("keep_alive_after", KEEP_ALIVE_AFTER),
        )
        self._liaison = Liaison(options.get("on_state"), self.lose)
        self._tracker = Tracker()
        self._receiver: Receiver | None = None
        self._id = b""
        self._common: Headers = []
        self._streams: dict[str, Subscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._early: list[bytes] = []
        self._has_begun = False
        self._instead: WebSocketTransport | None = None
        self._is_leaving = False
        self._lost: ConnectionClosed | None = None
        self.refusal: ConnectFailed | None = None
        """Why the server did not let us in."""
        self.resumes = False
        """Whether the server keeps what is missed during an interruption."""
        self.is_paused = False
        """Whether nothing is to be read for now."""
        self._posts = Posts(self, self._client, address.path)

    @classmethod
    async def open(cls, url: str, **options: Unpack[RemoteOptions]) -> HttpTransport:
        """Reach a server.

        Raises:
            ConnectFailed: It cannot be reached, or not so; the text says what to do.
        """
        transport = cls(Address(url, options), options)
        try:
            await transport._client.connect()
        except BaseException:  # also when cancelled: no socket is left open
            transport._client.close()
            raise
        return transport

    @property
    def http_version(self) -> str:
        """What is spoken, as "2" or "1.1"."""
        return self._client.http_version

    @property
    def gone_status(self) -> int | None:
        """Why a server ended a connection that was resumed: 404 unknown, 410 too much missed."""
        return self._liaison.gone_status if self._instead is None else self._instead.gone_status

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        if self._instead is not None:
            self._instead.start(receiver)
        elif self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent; servers do not take arrays, so their messages go one by one."""
        if self._instead is not None:
            self._instead.send(frame)
            return
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        for message in messages_in(frame):
            if not self._has_begun:
                self._has_begun = True
                self._spawn(self._begin(message))
            elif not self._id:
                self._early.append(message)
            else:
                self._put(message)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        return self._posts.drained() if self._instead is None else self._instead.drained()

    def pause_reading(self) -> None:
        """Stop reading; the server stalls when the windows are full."""
        self.is_paused = True
        if self._instead is not None:
            self._instead.pause_reading()
        for stream in self._streams.values():
            stream.hold()

    def resume_reading(self) -> None:
        """Go on reading."""
        self.is_paused = False
        if self._instead is not None:
            self._instead.resume_reading()
        for stream in list(self._streams.values()):
            if not self.is_paused:
                stream.release()

    async def aclose(self) -> None:
        """Send what is left, as far as the server takes it, and end the connection there too."""
        if self._instead is not None:
            await self._instead.aclose()
            return
        self._is_leaving = True
        try:
            with suppress(TimeoutError, TransportError):
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    if self._lost is None:
                        await self._posts.flush()
                    await self._delete()
        finally:
            self.lose(ConnectionClosed("the connection was closed by us"))
            self._client.close()
            for task in self._tasks:
                task.cancel()

    async def _delete(self) -> None:
        if self._id and self.gone_status is None:
            response = await self._client.request("DELETE", self._address.path, self._common)
            response.cancel()

    # The beginning.

    async def _begin(self, frame: bytes) -> None:
        """Have the agent initialized."""
        headers = [_JSON, _TAKES, (RESUME, b"1")]
        try:
            response = await self._client.request("POST", self._address.path, headers, frame)
            if response.status in _NOT_HERE and await self._turn_to_websocket(frame):
                response.cancel()
                return
            body = await response.read(self._max_bytes)
        except TransportError as error:
            if not await self._turn_to_websocket(frame):
                self._refuse(ConnectFailed(f"{self._address.shown} does not answer: {error}"))
            return
        except RemoteProtocolError as error:
            self._refuse(ConnectFailed(f"{self._address.shown}: {error}"))
            return
        if response.status != 200 or not response.header(CONNECTION_ID):
            reason = reason_in(response, body)
            self._refuse(refusal_of(self._address.shown, response.status, reason), body)
            return
        self._began(response, body)
        self.deliver(None, [body], 0)
        self._subscribe("")
        for early in self._early:
            self._put(early)
        self._early.clear()
        self._posts.open()

    def _began(self, response: Response, body: bytes) -> None:
        self._id = response.header(CONNECTION_ID).encode("latin-1")
        self._common = [(CONNECTION_ID, self._id)]
        if (version := agreed_version(body)) is not None:
            self._common.append((PROTOCOL_VERSION, b"%d" % version))
        self.resumes = self._liaison.negotiated(response.header(RESUME))

    def _refuse(self, refusal: ConnectFailed, body: bytes = b"") -> None:
        """End what has hardly begun; an answer of JSON-RPC is passed on."""
        if body.startswith(b'{"jsonrpc"') and not isinstance(refusal, Unauthorized):
            self.deliver(None, [body], 0)
        self.refusal = refusal
        self.lose(ConnectionClosed(str(refusal)))

    async def _turn_to_websocket(self, frame: bytes) -> bool:
        """Speak WebSocket if the server knows that."""
        other = WebSocketTransport(self._address, self._options, self._client.cookies)
        try:
            await other.connect()
        except TransportError:
            return False
        if self._lost is not None:
            await other.aclose()
            return True
        self._instead = other
        if self._receiver is not None:
            other.start(self._receiver)
        if self.is_paused:
            other.pause_reading()
        for each in (frame, *self._early):
            other.send(each)
        self._client.close()
        return True

    # What streams and posts ask for.

    def backoff(self) -> Backoff:
        """Return how to wait before the next attempt."""
        return Backoff(self._options.get("retry_after", RETRY_AFTER))

    def parser(self) -> EventParser:
        """Return what reads events."""
        return EventParser(self._max_bytes)

    async def open_stream(self, session: str, headers: Headers) -> Response:
        """Ask for a stream."""
        return await self._client.request(
            "GET", self._address.path, [*headers, *self._ids(session)]
        )

    def post_headers(self, session: str) -> Headers:
        """Return the headers of a POST."""
        return [_JSON, *self._ids(session)]

    def prepare(self, way: Way) -> asyncio.Future[bool] | None:
        """Open the stream of a session that is about to be loaded."""
        stream = self._subscribe(way.session)
        stream.loading()
        return stream.opened

    def is_away(self, part: object, text: str) -> None:
        """Learn that something is interrupted."""
        self._liaison.is_away(part, text)

    def is_back(self, part: object) -> None:
        """Learn that it is there again."""
        self._liaison.is_back(part)

    async def rest(self, seconds: float) -> None:
        """Wait before a stream is opened again; less when another one is back."""
        await self._liaison.rest(seconds)

    def deliver(self, stream: Subscription | None, frames: Sequence[Frame], size: int) -> None:
        """Pass frames on, and do what they mean for the streams."""
        if self._lost is not None or self._receiver is None:
            return
        session = "" if stream is None else stream.session
        seen: list[Seen] = []
        if not (isinstance(frames, Lines) and is_updates(frames.block, size)):
            notes = [(self._tracker.inbound(frame, session), frame) for frame in frames]
            if stream is not None and not self.resumes and not session:
                frames = [frame for told, frame in notes if not self._waits(told, frame)]
            seen = [note for told, _ in notes for note in told]
        try:
            if frames:
                self._receiver.frames_received(frames)
        except Exception:  # a defect of the receiver's ends the connection
            logger.exception("what was read could not be taken; the connection ends")
            self.lose(ConnectionClosed("we failed to take what the peer sent"))
        for note in seen:
            self._follow(note)

    def deliver_after(self, stream: Subscription, frame: Frame, after: bytes) -> None:
        """Pass a frame on, but not before what it must not overtake."""
        number, _, session = after.partition(b" ")
        other = self._streams.get(session.decode("utf-8", "replace"))
        if other is None or not other.wait(parse_id(number), frame):
            self.deliver(stream, [frame], 0)

    def _waits(self, told: list[Seen], frame: Frame) -> bool:
        """Keep the answer to a load that a plain server sends beside the replay."""
        loaded = (self._streams.get(each.session) for each in told if each.what == "loaded")
        return any(each is not None and each.wait_for_silence(frame) for each in loaded)

    def _follow(self, note: Seen) -> None:
        if self._lost is not None:
            return
        if note.what == "opened" or (note.what == "loaded" and note.session not in self._streams):
            self._subscribe(note.session)
        elif note.what != "loaded" and note.session in self._streams:
            self._streams.pop(note.session).stop()

    def ended(self, why: str) -> None:
        """Learn that the server has ended the connection; other streams may still say something."""
        self._liaison.end(ended(self._address.shown, why))

    def is_over(self, stream: Subscription) -> bool:
        """Tell whether a stream is not opened again; with the last one the connection is lost."""
        ending = self._liaison.ending
        if ending is not None:
            self._streams.pop(stream.session, None)
            stream.stop()
            if not self._streams:
                self.lose(ending)
        return ending is not None

    async def refused_stream(
        self, stream: Subscription, response: Response
    ) -> ConnectionClosed | None:
        """Return why a refused stream ends the connection; None if it does not."""
        reason = await reason_of(response)
        if response.status == 404 and stream.is_early:
            self._streams.pop(stream.session, None)  # it will be known when it is loaded
            return None
        return self._ends(response.status, reason)

    def refused(self, way: Way, status: int, reason: str) -> None:
        """Fail the call whose frame was refused, or end the connection."""
        self._tracker.forget(way)
        if status in (401, 403, 404, 410):
            self.lose(self._ends(status, reason))
        elif way.waits:
            self.deliver(None, [failure_of(way, status, reason)], 0)
        else:
            logger.warning("the server refused %s (%d)", way.method or "an answer", status)

    def lose(self, reason: ConnectionClosed) -> None:
        """End the connection, once."""
        if self._lost is not None:
            return
        self._lost = reason
        self._posts.stop()
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.stop()
        self._liaison.close(str(reason), is_ours=self._is_leaving)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)

    # Inside.

    def _put(self, frame: bytes) -> None:
        way = self._tracker.outbound(frame)
        if way.is_sendable:
            self._posts.put(frame, way)
        else:
            self._loop.call_soon(self.refused, way, 400, "the session cannot be named in a header")

    def _ids(self, session: str) -> Headers:
        return [*self._common, (SESSION_ID, session.encode())] if session else self._common

    def _subscribe(self, session: str) -> Subscription:
        stream = self._streams.get(session)
        if stream is None:
            stream = self._streams[session] = Subscription(self, session)
            stream.start()
        return stream

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _ends(self, status: int, reason: str) -> ConnectionClosed:
        self._liaison.gone_status = status if status in (404, 410) else None
        return gone(self._address.shown, status, reason)
