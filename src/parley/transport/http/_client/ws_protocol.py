"""A client WebSocket: the handshake, and messages as they arrive.

The `websockets` library handles the handshake, control frames and everything unusual. Unfragmented
text messages, which nearly all frames are, are cut out of the bytes here: the library would take
several times as long. It is only given whole frames. A message that is too long is skipped; a frame
with its two ends is delivered in its place, on its own.
Spec: https://www.rfc-editor.org/rfc/rfc6455
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from websockets.client import ClientProtocol
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.uri import WebSocketURI

from parley.rpc._framing import EDGE_BYTES, OversizedFrame
from parley.transport._base import HIGH_WATER_BYTES, LOW_WATER_BYTES

from .address import KEEP_ALIVE_AFTER
from .coalesced_flush import CoalescedFlush
from .keep_alive import KeepAliveTimer
from .response import RequestInterrupted

_TEXT = 0x81
_ACCEPTED = b"HTTP/1.1 101"
_MAX_HEAD_BYTES = 64 * 1024
_FLUSH_BYTES = 64 * 1024
_LAST_DATA_OPCODE = 2
"""The highest opcode of a data frame; those above it are control frames."""
_MAX_CONTROL_BYTES = 125
_RESERVED = 0x70
_PROTOCOL_ERROR = "the server violated the WebSocket protocol"


class _MessageEdges:
    """The first and last bytes of a message that is too long to keep."""

    __slots__ = ("_head", "_tail")

    def __init__(self) -> None:
        self._head = self._tail = b""

    def add(self, data: bytes) -> None:
        """Append the next bytes."""
        if len(self._head) < EDGE_BYTES:
            self._head += data[: EDGE_BYTES - len(self._head)]
        self._tail = (self._tail + data[-EDGE_BYTES:])[-EDGE_BYTES:]

    def frame(self, limit_bytes: int) -> OversizedFrame:
        """Return the frame that takes the place of the message."""
        return OversizedFrame(self._head, self._tail, limit_bytes)


class WebSocketReceiver(Protocol):
    """The transport that a `WebSocket` delivers messages to."""

    def texts_received(self, texts: list[bytes], /) -> None:
        """Accept the text messages of one read."""

    def binary_received(self, data: bytes, /) -> None:
        """Accept a binary message."""

    def socket_lost(self, socket: WebSocket, code: int, reason: str, /) -> None:
        """Called once when an open socket is lost, with the close code (or 1006) and the reason."""

    def on_writable(self) -> None:
        """Called when more can be written."""


class WebSocket(asyncio.Protocol):
    """One WebSocket; await `handshake_response` for the result of the handshake."""

    def __init__(
        self,
        uri: WebSocketURI,
        headers: list[tuple[bytes, bytes]],
        receiver: WebSocketReceiver,
        *,
        max_message_bytes: int,
        keep_alive_after: float = KEEP_ALIVE_AFTER,
    ) -> None:
        self._protocol = ClientProtocol(uri, max_size=None)
        self._max_bytes = max_message_bytes
        self._headers = headers
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        """When the object was created, in event loop time."""
        self.handshake_response: asyncio.Future[Response] = self._loop.create_future()
        """The server's response to the handshake, whatever its status."""
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._needed_bytes = 0
        self._fragments: list[bytes] = []
        self._fragments_bytes = 0
        self._oversized: _MessageEdges | None = None
        """The ends of an oversized message, as far as it has arrived."""
        self._bytes_to_skip = self._skipped_first_byte = 0
        """The number of bytes still to skip of an oversized frame, and its first byte."""
        self._is_open = False
        self._is_rejected = False
        """Whether the head of a response that rejects the handshake has arrived."""
        self._is_text = False
        self._coalesced_flush = CoalescedFlush(self._flush)
        self._queued_bytes = 0
        self._keep_alive = KeepAliveTimer(
            keep_alive_after, ping=self._ping, on_silence=self._peer_is_silent
        )
        self.is_full = False
        """Whether the write buffer is full."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._is_open and self._protocol.state is State.OPEN and self._transport is not None

    def send_text(self, data: bytes) -> None:
        """Queue a text message; it is sent with the others of this event loop iteration."""
        self._protocol.send_text(data)
        self._queued_bytes += len(data)
        if self._queued_bytes >= _FLUSH_BYTES:
            self._flush()
        else:
            self._coalesced_flush.schedule()

    def send_binary(self, data: bytes) -> None:
        """Send a binary message if the socket is open."""
        if self.is_open:
            self._protocol.send_binary(data)
            self._flush()

    def pause(self) -> None:
        """Pause reading."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Resume reading."""
        if self._transport is not None:
            self._transport.resume_reading()

    def begin_close(self, code: int = 1000) -> None:
        """Send a close frame; the server then closes the connection."""
        if self._transport is not None and self._protocol.state is State.OPEN:
            self._protocol.send_close(code)
            self._flush()

    def abort(self) -> None:
        """Close the connection at once, without a close frame."""
        self._disconnect(1006, "the connection was closed by us")

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the handshake request, and start the keep-alive timer."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        request = self._protocol.connect()
        for name, value in self._headers:
            request.headers[name.decode()] = value.decode("latin-1")
        self._protocol.send_request(request)
        self._flush()
        self._keep_alive.start()

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the server."""
        self._keep_alive.has_received = True
        if not self._is_open:
            if not self.handshake_response.done():
                self._read_handshake(data)
            return
        if self._buffer or self._needed_bytes:
            self._buffer += data
            if len(self._buffer) < self._needed_bytes:
                return
            data = bytes(self._buffer)
            self._buffer.clear()
        self._needed_bytes = 0
        if self._bytes_to_skip:
            data = self._skip(data)
        self._split(data)

    def eof_received(self) -> None:
        """Complete a handshake response that the server ends by closing the connection."""
        if not self._is_open:
            self._protocol.receive_eof()
            self._read_handshake_response()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the loss of the connection."""
        self._disconnect(1006, "" if exc is None else str(exc))

    def pause_writing(self) -> None:
        """Called when the write buffer is full."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Called when the write buffer is no longer full."""
        self.is_full = False
        self._receiver.on_writable()

    # Internals.

    def _read_handshake(self, data: bytes) -> None:
        """Give the library the handshake response, without the frames that follow it."""
        if self._is_rejected:  # more of the body
            self._protocol.receive_data(data)
            self._read_handshake_response()
            return
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n") + 4
        if end < 4:
            if len(self._buffer) > _MAX_HEAD_BYTES:
                self._disconnect(1006, "the response to the handshake is too long")
            return
        response = bytes(self._buffer)
        self._buffer.clear()
        self._is_rejected = not response.startswith(_ACCEPTED)
        self._protocol.receive_data(response if self._is_rejected else response[:end])
        self._read_handshake_response()
        if self._is_open and response[end:]:
            self._split(response[end:])

    def _read_handshake_response(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Response) and not self.handshake_response.done():
                self._is_open = self._protocol.state is State.OPEN
                self.handshake_response.set_result(event)
        if self._protocol.handshake_exc is not None and not self.handshake_response.done():
            self._disconnect(1006, "the server does not speak WebSocket")
        self._flush()

    def _split(self, data: bytes) -> None:
        """Split bytes into frames: collect text messages, and give other frames to the library."""
        texts: list[bytes] = []
        offset, end = 0, len(data)
        while (left := end - offset) >= 2:
            length, header, is_masked = data[offset + 1], 2, data[offset + 1] > 127
            if is_masked:  # forbidden for a server: let the library report it
                header, length = left, 0
            elif length > 125:
                header = 4 if length == 126 else 10
                length = int.from_bytes(data[offset + 2 : offset + header], "big")
            is_short = length <= self._max_bytes and not is_masked
            if left < header or (is_short and left < header + length):
                self._needed_bytes = header if left < header else header + length
                break
            if not is_short and not is_masked:
                self._deliver_texts(texts)
                data, texts, offset = self._begin_skip(data, offset, header, length), [], 0
                if self._transport is None:
                    return
                end = len(data)
                continue
            if (
                is_short
                and data[offset] == _TEXT
                and not self._fragments
                and self._oversized is None
            ):
                texts.append(data[offset + header : offset + header + length])
            else:
                self._deliver_texts(texts)
                texts = []
                if self._transport is not None:
                    self._feed_library(data[offset : offset + header + length], texts)
                if self._transport is None:
                    return
            offset += header + length
        self._buffer += data[offset:]
        self._deliver_texts(texts)

    def _begin_skip(self, data: bytes, offset: int, header: int, length: int) -> bytes:
        """Start skipping an oversized frame, and return the bytes after it."""
        self._bytes_to_skip, self._skipped_first_byte = length, data[offset]
        if _is_invalid_length(data[offset], length) and self._transport is not None:
            # A short invalid frame: the library need not buffer the long one to reject it.
            self._feed_library(bytes((data[offset] | _RESERVED, 0)), [])
        return self._skip(data[offset + header :])

    def _skip(self, data: bytes) -> bytes:
        """Skip the bytes of an oversized frame, keeping its ends, and return the bytes after it."""
        chunk = data[: self._bytes_to_skip]
        self._bytes_to_skip -= len(chunk)
        self._oversized = self._oversized or _MessageEdges()
        self._oversized.add(b"".join(self._fragments))
        self._oversized.add(chunk)
        self._fragments.clear()
        # The library sees an empty frame with the same flags, to follow the fragmentation.
        if not self._bytes_to_skip and self._transport is not None:
            self._feed_library(bytes((self._skipped_first_byte, 0)), [])
        return data[len(chunk) :]

    def _deliver_texts(self, texts: list[bytes]) -> None:
        """Deliver text messages; fail the connection at the first that is not valid UTF-8."""
        count = 0
        try:
            for text in texts:
                str(text, "utf-8")
                count += 1
        except UnicodeDecodeError:
            self._protocol.fail(CloseCode.INVALID_DATA)
            self._flush()
        if count:
            self._receiver.texts_received(texts[:count])
        if count < len(texts):
            self._disconnect(
                CloseCode.INVALID_DATA,
                f"{_PROTOCOL_ERROR}: a text message is not valid UTF-8",
                is_graceful=True,
            )

    def _feed_library(self, data: bytes, texts: list[bytes]) -> None:
        """Give a frame to the library; text messages that it completes are added to `texts`."""
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame_received(event, texts)
        self._send_library_output()

    def _send_library_output(self) -> None:
        """Send the library's replies, and close if it received a close frame or found an error."""
        self._flush()
        closed, failed = self._protocol.close_rcvd, self._protocol.close_sent
        if closed is not None:
            self._disconnect(closed.code, closed.reason, is_graceful=True)
        elif self._protocol.parser_exc is not None:
            code, reason = (1006, "") if failed is None else (failed.code, failed.reason)
            self._disconnect(code, f"{_PROTOCOL_ERROR}: {reason}", is_graceful=True)

    def _frame_received(self, frame: Frame, texts: list[bytes]) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._is_text = frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return
        self._fragments.append(bytes(frame.data))
        self._fragments_bytes += len(frame.data)
        if self._fragments_bytes > self._max_bytes:
            self._oversized = self._oversized or _MessageEdges()
        if self._oversized is not None:
            self._oversized.add(b"".join(self._fragments))
            self._fragments.clear()
        if not frame.fin:
            return
        self._message_received(b"".join(self._fragments), texts)
        self._fragments.clear()
        self._fragments_bytes = 0

    def _message_received(self, data: bytes, texts: list[bytes]) -> None:
        """Handle a complete message that arrived through the library, or the ends of a long one."""
        long, self._oversized = self._oversized, None
        if long is not None and self._is_text:
            self._deliver_texts(texts)
            texts.clear()
            self._receiver.texts_received([long.frame(self._max_bytes)])
        elif long is None and self._is_text:
            texts.append(data)
        elif long is None:
            self._receiver.binary_received(data)

    def _flush(self) -> None:
        self._queued_bytes = 0
        pieces = self._protocol.data_to_send()
        if not pieces or self._transport is None or self._transport.is_closing():
            return
        is_end = pieces[-1] == b""
        data = b"".join(pieces)
        if data:
            self._transport.write(data)
        if is_end:
            self._transport.close()

    def _ping(self) -> bool:
        """Send a ping, unless the handshake or the closing handshake is in progress."""
        is_open = self._is_open and self._protocol.state is State.OPEN
        if is_open:
            self._protocol.send_ping(b"")
            self._flush()
        return is_open

    def _peer_is_silent(self) -> None:
        self._disconnect(1006, "the server does not respond to pings")

    def _disconnect(self, code: int, reason: str, *, is_graceful: bool = False) -> None:
        """Close the connection, and fail the handshake or report the loss; once."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        if is_graceful:
            transport.close()
        else:
            transport.abort()
        self._keep_alive.stop()
        if not self.handshake_response.done():
            text = reason or "the server closed the connection"
            self.handshake_response.set_exception(RequestInterrupted(text))
            self.handshake_response.exception()  # mark as retrieved: the waiting task may be gone
            return
        if self._is_open:
            self._receiver.socket_lost(self, code, reason)


def _is_invalid_length(first: int, length: int) -> bool:
    """Return whether the protocol forbids this length for a frame with this first byte."""
    is_control = first & 0x0F > _LAST_DATA_OPCODE
    return length > _MAX_CONTROL_BYTES if is_control else bool(length >> 63)
