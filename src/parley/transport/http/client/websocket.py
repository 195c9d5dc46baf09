"""A connection to a remote agent over WebSocket: one text message per frame.

A Parley server says in the handshake that it can resume. Then both sides count the messages, tell
each other from time to time how many they have had (a binary message of eight bytes, which a plain
peer would pass over), and keep what the other has not confirmed. After an interruption they begin
with telling how many they have had, and each sends what the other lacks. Whoever uses this
transport learns nothing of it, except from `on_state`. With any other server the end of the socket
is the end of the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Unpack

from websockets.http11 import Response
from websockets.uri import WebSocketURI

from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.rpc.framing import Frame, Lines, Oversized
from parley.transport.base import HIGH_WATER_BYTES, MAX_MESSAGE_BYTES, Receiver
from parley.transport.http.backoff import RETRY_AFTER, Backoff
from parley.transport.http.negotiation import CONNECTION_ID, RESUME, resume_parameter
from parley.transport.waiters import Waiters

from .address import KEEP_ALIVE_AFTER, Address, RemoteOptions
from .cookies import CookieJar
from .liaison import Liaison
from .refusals import gone, refusal_of, said
from .requests import CONNECT_TIMEOUT, dial, hand_over
from .response import Headers, Interrupted
from .socket import WebSocket

__all__ = ["WebSocketTransport"]

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 2.0
_UNCONFIRMED_BYTES = 4 * 1024 * 1024
"""So much is kept for a server that has not confirmed it; then senders wait."""
_CONFIRM_MESSAGES = 64
_CONFIRM_BYTES = 256 * 1024
_CONFIRM_AFTER = 1.0
_FINAL = frozenset({1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1015})
"""After these close codes the server does not want us back."""
_MEANS = {
    1000: "the server closed the connection",
    1001: "the server is going away",
    1002: "something was no WebSocket",
    1003: "the server does not take such messages",
    1006: "the connection broke",
    1008: "the server ended it for a rule of its own",
    1009: "a message was too long",
    1011: "the server failed",
    1012: "the server restarts",
    1013: "the server has too much to do",
}


class WebSocketTransport:
    """One connection to an agent behind `ws://` or `wss://`; make one with `open`."""

    def __init__(
        self, address: Address, options: RemoteOptions, cookies: CookieJar | None = None
    ) -> None:
        self._address = address
        self._max_bytes = options.get("max_message_bytes", MAX_MESSAGE_BYTES)
        self._keep_alive_after = options.get("keep_alive_after", KEEP_ALIVE_AFTER)
        self._backoff = Backoff(options.get("retry_after", RETRY_AFTER))
        self._connect_timeout = options.get("connect_timeout", CONNECT_TIMEOUT)
        self._cookies = cookies or CookieJar(is_secure=address.is_secure or address.is_local)
        self._loop = asyncio.get_running_loop()
        self._liaison = Liaison(options.get("on_state"), self._lose)
        self._receiver: Receiver | None = None
        self._socket: WebSocket | None = None
        self._id = ""
        self._resumes = False
        self._is_paused = False
        self._early: list[list[bytes]] = []
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._confirmed = 0
        """How many of our messages the server has had."""
        self._received = 0
        self._told = 0
        self._untold_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._returning: asyncio.Task[None] | None = None
        self._waiters = Waiters()
        self._is_leaving = False
        self._lost: ConnectionClosed | None = None

    @classmethod
    async def open(cls, url: str, **options: Unpack[RemoteOptions]) -> WebSocketTransport:
        """Reach a server.

        Raises:
            ConnectFailed: It cannot be reached, or not so; the text says what to do.
            Unauthorized: It wants a token, or another one.
        """
        transport = cls(Address(url, options), options)
        await transport.connect()
        return transport

    @property
    def gone_status(self) -> int | None:
        """Why a server ended a connection that was resumed: 404 unknown, 410 too much missed."""
        return self._liaison.gone_status

    async def connect(self) -> None:
        """Open the socket for the first time.

        Raises:
            ConnectFailed: The server cannot be reached, or does not speak WebSocket here.
        """
        try:
            socket, response = await self._shake_hands([(RESUME, b"1")])
        except Interrupted as error:
            raise ConnectFailed(f"{self._address.shown} does not answer: {error}") from error
        if response.status_code != 101:
            raise refusal_of(self._address.shown, response.status_code, _reason(response))
        self._id = response.headers.get(CONNECTION_ID.decode(), "")
        resume = response.headers.get(RESUME.decode(), "")
        self._resumes = bool(self._id) and self._liaison.negotiated(resume)
        self._socket = socket

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        early, self._early = self._early, []
        for texts in early:
            self._loop.call_soon(self._deliver, texts)
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        if self._resumes:
            self._kept.append(frame)
            self._kept_bytes += len(frame)
        if self._socket is not None and self._socket.is_open:
            self._socket.send_text(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        if self._lost is not None or not self._is_full():
            return None
        return self._waiters.wait()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._is_paused = True
        if self._socket is not None:
            self._socket.pause()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._is_paused = False
        if self._socket is not None:
            self._socket.resume()

    async def aclose(self) -> None:
        """Say goodbye, and close; what was sent before is sent."""
        self._is_leaving = True
        socket = self._socket
        try:
            if socket is not None and self._lost is None:
                socket.resume()
                socket.begin_close()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_CLOSE_TIMEOUT):
                        while self._lost is None:
                            await self._waiters.wait()
        finally:
            self._lose(ConnectionClosed("the connection was closed by us"))
            if self._returning is not None:
                self._returning.cancel()

    # What the socket calls.

    def texts_received(self, texts: list[bytes]) -> None:
        """Take the messages of one read."""
        self._received += len(texts)
        self._backoff.reset()  # to be let in and sent away at once is no success
        if self._resumes:
            self._untold_bytes += sum(map(len, texts))
            self._confirm()
        self._deliver(texts)

    def binary_received(self, data: bytes) -> None:
        """Learn how many of our messages the server has had; anything else is passed over."""
        if self._resumes and len(data) == 8:
            self._confirm_up_to(int.from_bytes(data, "big"))

    def room_changed(self) -> None:
        """Let go who waits for room, if there is some."""
        if self._lost is not None or not self._is_full():
            self._waiters.release()

    def socket_lost(self, socket: WebSocket, code: int, reason: str) -> None:
        """Come back if that is wanted, else end."""
        if socket is not self._socket or self._lost is not None:
            return
        self._socket = None
        self._backoff.lasted(self._loop.time() - socket.opened_at)
        text = _MEANS.get(code, "the server closed the connection")
        text = f"{text}: {said(reason)} ({code})" if reason else f"{text} ({code})"
        if self._is_leaving:
            self._lose(ConnectionClosed("the connection was closed by us"))
        elif self._resumes and code not in _FINAL and code < 4000:
            self._liaison.is_away(self, text)
            self._returning = self._loop.create_task(self._return())
        else:
            self._lose(ConnectionClosed(text))

    # Inside.

    def _is_full(self) -> bool:
        if self._socket is None:
            return self._kept_bytes > HIGH_WATER_BYTES
        return self._socket.is_full or self._kept_bytes > _UNCONFIRMED_BYTES

    async def _shake_hands(self, headers: Headers) -> tuple[WebSocket, Response]:
        """Open a socket and return what the server says to it."""
        address = self._address
        path, _, query = address.path.decode().partition("?")
        uri = WebSocketURI(address.is_secure, address.host, address.port, path, query)
        headers = [*address.headers, *headers]
        if self._cookies.header:
            headers.append((b"cookie", self._cookies.header))
        socket = WebSocket(
            uri,
            headers,
            self,
            max_message_bytes=self._max_bytes,
            keep_alive_after=self._keep_alive_after,
        )
        try:
            async with asyncio.timeout(self._connect_timeout):
                hand_over(await dial(address, ["http/1.1"]), socket)
                response = await socket.answered
        except TimeoutError as error:
            socket.abort()
            raise ConnectFailed(
                f"{address.shown} was not reached in {self._connect_timeout:g} seconds"
            ) from error
        except BaseException:  # also when cancelled: the socket is not left open
            socket.abort()
            raise
        self._cookies.store(
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in response.headers.raw_items()
        )
        if response.status_code != 101:
            socket.abort()
        return socket, response

    async def _return(self) -> None:
        """Open the socket again, and go on where the two sides were."""
        while self._lost is None:
            await asyncio.sleep(self._backoff.next())
            resume = b"1; received=%d" % self._received
            headers = [(CONNECTION_ID, self._id.encode()), (RESUME, resume)]
            try:
                socket, response = await self._shake_hands(headers)
            except TransportError as error:
                self._liaison.is_away(self, str(error))
                continue
            if self._is_back(socket, response):
                return

    def _is_back(self, socket: WebSocket, response: Response) -> bool:
        """Go on with a new socket; tell whether that is the end of the attempts."""
        status = response.status_code
        if status in (408, 425, 429) or status >= 500:
            return False
        had = resume_parameter(response.headers.get(RESUME.decode(), ""), "received")
        if status != 101 or had is None:
            socket.abort()
            self._liaison.gone_status = status if status in (404, 410) else None
            self._lose(gone(self._address.shown, status, _reason(response)))
            return True
        if not self._confirmed <= had <= self._confirmed + len(self._kept):
            socket.abort()
            self._lose(ConnectionClosed("the server counts messages that were never sent"))
            return True
        if not socket.is_open:
            return False
        self._told, self._untold_bytes = self._received, 0
        self._confirm_up_to(had)
        self._socket = socket
        for frame in self._kept:
            socket.send_text(frame)
        if self._is_paused:
            socket.pause()
        self._liaison.is_back(self)
        self.room_changed()
        return True

    def _deliver(self, texts: list[bytes]) -> None:
        if self._receiver is None:
            self._early.append(texts)
            return
        if self._lost is not None:
            return
        block = b"\n".join([*texts, b""])
        frames: list[Frame] | Lines = list[Frame](texts)
        if not isinstance(texts[0], Oversized) and block.count(b"\n") == len(texts):
            frames = Lines(block)
        try:
            self._receiver.frames_received(frames)
        except Exception:  # a defect of the receiver's ends the connection
            logger.exception("what was read could not be taken; the connection ends")
            self._lose(ConnectionClosed("we failed to take what the peer sent"))

    def _confirm(self) -> None:
        """Tell the server how much was received: now if it is much, else soon."""
        if self._received - self._told >= _CONFIRM_MESSAGES or self._untold_bytes >= _CONFIRM_BYTES:
            self._tell()
        elif self._timer is None:
            self._timer = self._loop.call_later(_CONFIRM_AFTER, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None and self._received > self._told:
            self._told, self._untold_bytes = self._received, 0
            self._socket.send_binary(self._received.to_bytes(8, "big"))

    def _confirm_up_to(self, count: int) -> None:
        while self._confirmed < count and self._kept:
            self._kept_bytes -= len(self._kept.popleft())
            self._confirmed += 1
        if self._waiters:
            self.room_changed()

    def _lose(self, reason: ConnectionClosed) -> None:
        """End the connection, once."""
        if self._lost is not None:
            return
        self._lost = reason
        if self._timer is not None:
            self._timer.cancel()
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.abort()
        self._kept.clear()
        self._waiters.release()
        self._liaison.close(str(reason), is_ours=self._is_leaving)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)


def _reason(response: Response) -> str:
    return said(bytes(response.body).decode("utf-8", "replace"))
