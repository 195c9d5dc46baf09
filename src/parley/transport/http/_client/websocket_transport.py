"""A connection to a remote agent over WebSocket: one text message per frame.

A Parley server says in the handshake that it can resume. Then both sides count the messages,
acknowledge from time to time how many they have received (in a binary message of eight bytes, which
other implementations ignore), and keep what the other has not acknowledged. After an interruption
both state in the handshake how many messages they have received, and each sends what the other
lacks. The user of the transport does not notice, except through `on_state`. With any other server,
the connection ends with the socket. The WebSocket itself is in `ws_protocol.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Unpack

from websockets.http11 import Response
from websockets.uri import WebSocketURI

from parley._task_owner import TaskOwner
from parley.errors import ConnectFailed, ConnectionClosed, TransportError
from parley.rpc._framing import Frame, LineBlock, OversizedFrame
from parley.transport._base import HIGH_WATER_BYTES, MAX_MESSAGE_BYTES, Receiver, deliver_frames
from parley.transport._frame_head import FrameHead
from parley.transport._notifier import Notifier
from parley.transport.http._backoff import RETRY_AFTER, Backoff
from parley.transport.http._negotiation import CONNECTION_ID, RESUME, resume_parameter

from .address import KEEP_ALIVE_AFTER, Address, RemoteOptions
from .connection_pool import CONNECT_TIMEOUT, dial, start_protocol
from .cookies import CookieJar
from .http_errors import connect_error, resume_refused, short_text
from .reconnect import ReconnectState
from .response import Headers, RequestInterrupted
from .ws_protocol import WebSocket

_CLOSE_TIMEOUT = 2.0
_MAX_UNACKED_BYTES = 4 * 1024 * 1024
"""Bytes kept until the server acknowledges them; beyond it senders wait."""
_ACK_MESSAGES = 64
_ACK_BYTES = 256 * 1024
_ACK_AFTER = 1.0
_FINAL_CLOSE_CODES = frozenset({1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1015})
"""Close codes after which the client does not reconnect."""
_CLOSE_CODE_TEXTS = {
    1000: "the server closed the connection",
    1001: "the server is going away",
    1002: "a frame was not valid in WebSocket",
    1003: "the server does not accept this kind of message",
    1006: "the connection was lost",
    1008: "the server closed the connection because of a policy",
    1009: "a message was too long",
    1011: "the server failed",
    1012: "the server is restarting",
    1013: "the server is overloaded",
}


class WebSocketTransport:
    """A connection to an agent at a `ws://` or `wss://` URL.

    Create one with `open`. Call `start` with the receiver of the inbound frames, `send` for each
    outbound frame, and `aclose` at the end.
    """

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
        self._reconnect_state = ReconnectState(options.get("on_state"), self._end)
        self._receiver: Receiver | None = None
        self._socket: WebSocket | None = None
        self._id = ""
        self._resumes = False
        self._is_paused = False
        self._early_texts: list[list[bytes]] = []
        self._unacked: deque[bytes] = deque()
        self._unacked_bytes = 0
        self._acked_count = 0
        """The number of our messages that the server has acknowledged."""
        self._received_count = 0
        self._last_ack = 0
        self._unacked_received_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = TaskOwner(address.shown, expected=(TransportError,))
        self._waiters = Notifier()
        self._is_closing = False
        self._lost: ConnectionClosed | None = None

    @classmethod
    async def open(cls, url: str, **options: Unpack[RemoteOptions]) -> WebSocketTransport:
        """Connect to a server.

        Raises:
            ConnectFailed: The server cannot be reached, or an option is invalid; the message says
                what to do.
            Unauthorized: The server requires a token, or a different one.
        """
        transport = cls(Address(url, options), options)
        await transport.connect()
        return transport

    @property
    def gone_status(self) -> int | None:
        """The status with which the server refused to resume, if it did.

        404: it does not know the connection; 410: it no longer has the missed messages.
        """
        return self._reconnect_state.gone_status

    async def connect(self) -> None:
        """Open the WebSocket for the first time.

        Raises:
            ConnectFailed: The server cannot be reached, or does not speak WebSocket at this path.
        """
        try:
            socket, response = await self._handshake([(RESUME, b"1")])
        except RequestInterrupted as error:
            raise ConnectFailed(f"{self._address.shown} does not respond: {error}") from error
        if response.status_code != 101:
            raise connect_error(self._address.shown, response.status_code, _reason(response))
        self._id = response.headers.get(CONNECTION_ID.decode(), "")
        resume = response.headers.get(RESUME.decode(), "")
        self._resumes = bool(self._id) and self._reconnect_state.negotiated(resume)
        self._socket = socket

    def start(self, receiver: Receiver) -> None:
        """Deliver inbound frames to this receiver, including those that arrived earlier."""
        self._receiver = receiver
        early_texts, self._early_texts = self._early_texts, []
        for texts in early_texts:
            self._loop.call_soon(self._deliver, texts)
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame, or keep it until the connection is restored.

        Raises:
            ConnectionClosed: The connection is lost or closed.
        """
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        if self._resumes:
            self._unacked.append(frame)
            self._unacked_bytes += len(frame)
        if self._socket is not None and self._socket.is_open:
            self._socket.send_text(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more, or None."""
        if self._lost is not None or not self._is_full():
            return None
        return self._waiters.wait()

    def pause_reading(self) -> None:
        """Pause reading."""
        self._is_paused = True
        if self._socket is not None:
            self._socket.pause()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._is_paused = False
        if self._socket is not None:
            self._socket.resume()

    async def aclose(self) -> None:
        """Close the connection after sending the frames that are queued."""
        self._is_closing = True
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
            self._end(ConnectionClosed("the connection was closed by us"))
            await self._tasks.aclose(_CLOSE_TIMEOUT)

    # Called by `WebSocket` (the `WebSocketReceiver` protocol).

    def texts_received(self, texts: list[bytes]) -> None:
        """Count and deliver the text messages of one read."""
        self._received_count += len(texts)
        self._backoff.reset()  # only now: being accepted alone is not a success
        if self._resumes:
            self._unacked_received_bytes += sum(map(len, texts))
            self._schedule_ack()
        self._deliver(texts)

    def binary_received(self, data: bytes) -> None:
        """Handle an acknowledgement; ignore any other binary message."""
        if self._resumes and len(data) == 8:
            self._handle_ack(int.from_bytes(data, "big"))

    def on_writable(self) -> None:
        """Wake the tasks waiting in `drained`, if more may be sent."""
        if self._lost is not None or not self._is_full():
            self._waiters.notify_all()

    def socket_lost(self, socket: WebSocket, code: int, reason: str) -> None:
        """Reconnect if the server can resume and the close code allows it, otherwise end."""
        if socket is not self._socket or self._lost is not None:
            return
        self._socket = None
        self._backoff.connection_lasted(self._loop.time() - socket.opened_at)
        text = _CLOSE_CODE_TEXTS.get(code, "the server closed the connection")
        text = f"{text}: {short_text(reason)} ({code})" if reason else f"{text} ({code})"
        if self._is_closing:
            self._end(ConnectionClosed("the connection was closed by us"))
        elif self._resumes and code not in _FINAL_CLOSE_CODES and code < 4000:
            self._reconnect_state.mark_interrupted(self, text)
            self._tasks.create_task(self._reconnect())
        else:
            self._end(ConnectionClosed(text))

    # Internals.

    def _is_full(self) -> bool:
        if self._socket is None:
            return self._unacked_bytes > HIGH_WATER_BYTES
        return self._socket.is_full or self._unacked_bytes > _MAX_UNACKED_BYTES

    async def _handshake(self, headers: Headers) -> tuple[WebSocket, Response]:
        """Open a WebSocket and return it with the server's handshake response."""
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
                start_protocol(await dial(address, ["http/1.1"]), socket)
                response = await socket.handshake_response
        except TimeoutError as error:
            socket.abort()
            raise ConnectFailed(
                f"cannot connect to {address.shown} within {self._connect_timeout:g} seconds"
            ) from error
        except BaseException:  # also when cancelled: do not leave the socket open
            socket.abort()
            raise
        self._cookies.store(
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in response.headers.raw_items()
        )
        if response.status_code != 101:
            socket.abort()
        return socket, response

    async def _reconnect(self) -> None:
        """Open a new WebSocket and resume the connection, retrying until it is lost."""
        while self._lost is None:
            await asyncio.sleep(self._backoff.next())
            resume = b"1; received=%d" % self._received_count
            headers = [(CONNECTION_ID, self._id.encode()), (RESUME, resume)]
            try:
                socket, response = await self._handshake(headers)
            except TransportError as error:
                self._reconnect_state.mark_interrupted(self, str(error))
                continue
            if self._try_resume(socket, response):
                return

    def _try_resume(self, socket: WebSocket, response: Response) -> bool:
        """Resume on a new WebSocket, and return whether to stop trying to reconnect.

        That is also so if the connection is lost for good.
        """
        status = response.status_code
        if status in (408, 425, 429) or status >= 500:
            return False
        server_received = resume_parameter(response.headers.get(RESUME.decode(), ""), "received")
        if status != 101 or server_received is None:
            socket.abort()
            self._reconnect_state.gone_status = status if status in (404, 410) else None
            self._end(resume_refused(self._address.shown, status, _reason(response)))
            return True
        if not self._acked_count <= server_received <= self._acked_count + len(self._unacked):
            socket.abort()
            self._end(ConnectionClosed("the server acknowledged messages that were never sent"))
            return True
        if not socket.is_open:
            return False
        self._last_ack, self._unacked_received_bytes = self._received_count, 0
        self._handle_ack(server_received)
        self._socket = socket
        for frame in self._unacked:
            socket.send_text(frame)
        if self._is_paused:
            socket.pause()
        self._reconnect_state.mark_reconnected(self)
        self.on_writable()
        return True

    def _deliver(self, texts: list[bytes]) -> None:
        if self._receiver is None:
            self._early_texts.append(texts)
            return
        if self._lost is not None:
            return
        # Messages without newlines can be delivered as one block of lines.
        block = b"\n".join([*texts, b""])
        frames: list[Frame] | LineBlock = list[Frame](texts)
        if not isinstance(texts[0], OversizedFrame) and block.count(b"\n") == len(texts):
            frames = LineBlock(block)
        deliver_frames(self._receiver, frames, self._end)

    def _schedule_ack(self) -> None:
        """Acknowledge the received messages: now if there are many, otherwise after a delay."""
        if (
            self._received_count - self._last_ack >= _ACK_MESSAGES
            or self._unacked_received_bytes >= _ACK_BYTES
        ):
            self._send_ack()
        elif self._timer is None:
            self._timer = self._loop.call_later(_ACK_AFTER, self._send_ack)

    def _send_ack(self) -> None:
        """Send the number of received messages, if it has changed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None and self._received_count > self._last_ack:
            self._last_ack, self._unacked_received_bytes = self._received_count, 0
            self._socket.send_binary(self._received_count.to_bytes(8, "big"))

    def _handle_ack(self, count: int) -> None:
        while self._acked_count < count and self._unacked:
            self._unacked_bytes -= len(self._unacked.popleft())
            self._acked_count += 1
        if self._waiters:
            self.on_writable()

    def _end(self, reason: ConnectionClosed) -> None:
        """End the connection and notify the receiver; later calls do nothing."""
        if self._lost is not None:
            return
        self._lost = reason
        if self._timer is not None:
            self._timer.cancel()
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.abort()
        self._unacked.clear()
        self._waiters.notify_all()
        self._reconnect_state.close(str(reason), is_ours=self._is_closing)
        if self._receiver is not None:
            self._receiver.connection_lost(reason)


def _reason(response: Response) -> str:
    return short_text(bytes(response.body).decode("utf-8", "replace"))
