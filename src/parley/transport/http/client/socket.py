"""One WebSocket to a server: the handshake, and messages as they come.

The library does the handshake, control frames and everything that is unusual. Whole text messages,
which is what nearly every frame is, are cut out of the bytes here: the library would take several
times as long. It only ever sees whole frames. A message that is too long is passed over: what is
handed on in its place, alone, are its two ends.
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

from parley.transport.base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from parley.transport.http.long_frames import Edges, is_wrong, wrong_frame

from .address import KEEP_ALIVE_AFTER
from .response import Interrupted

__all__ = ["SocketUser", "WebSocket"]

_TEXT = 0x81
_ACCEPTED = b"HTTP/1.1 101"
_MAX_HEAD_BYTES = 64 * 1024
_FLUSH_BYTES = 64 * 1024
_BROKEN = "the server broke a rule"


class SocketUser(Protocol):
    """Who uses a socket."""

    def texts_received(self, texts: list[bytes], /) -> None:
        """Take the text messages of one read."""

    def binary_received(self, data: bytes, /) -> None:
        """Take a binary message."""

    def socket_lost(self, socket: WebSocket, code: int, reason: str, /) -> None:
        """Learn, once, that it is over: the close code, 1006 if there was none, and in words."""

    def room_changed(self) -> None:
        """Learn that more can be written."""


class WebSocket(asyncio.Protocol):
    """One socket; who opens it waits for `answered`."""

    def __init__(
        self,
        uri: WebSocketURI,
        headers: list[tuple[bytes, bytes]],
        user: SocketUser,
        *,
        max_message_bytes: int,
        keep_alive_after: float = KEEP_ALIVE_AFTER,
    ) -> None:
        self._protocol = ClientProtocol(uri, max_size=None)
        self._max_bytes = max_message_bytes
        self._headers = headers
        self._user = user
        self._keep_alive_after = keep_alive_after
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        """When it was made."""
        self.answered: asyncio.Future[Response] = self._loop.create_future()
        """The server's answer to the handshake, whatever its status."""
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        self._wanted = 0
        self._fragments: list[bytes] = []
        self._fragments_bytes = 0
        self._long: Edges | None = None
        """The ends of a message that is too long, as far as it has come."""
        self._skips = self._skips_first = 0
        """How much is to come of a frame that is passed over, and how it began."""
        self._is_open = False
        self._is_text = False
        self._flushes = False
        self._queued_bytes = 0
        self._was_heard = True
        self._is_asked = False
        self._timer: asyncio.TimerHandle | None = None
        self.is_full = False
        """Whether the system takes no more bytes for now."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        return self._is_open and self._protocol.state is State.OPEN and self._transport is not None

    def send_text(self, data: bytes) -> None:
        """Send a text message, with the others of this turn."""
        self._protocol.send_text(data)
        self._queued_bytes += len(data)
        if self._queued_bytes >= _FLUSH_BYTES:
            self._flush()
        elif not self._flushes:
            self._flushes = True
            self._loop.call_soon(self._flush)

    def send_binary(self, data: bytes) -> None:
        """Send a binary message."""
        if self.is_open:
            self._protocol.send_binary(data)
            self._flush()

    def pause(self) -> None:
        """Read nothing for now."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def begin_close(self, code: int = 1000) -> None:
        """Say that we leave; the server then closes."""
        if self._transport is not None and self._protocol.state is State.OPEN:
            self._protocol.send_close(code)
            self._flush()

    def abort(self) -> None:
        """Close at once."""
        self._lose(1006, "the connection was closed by us")

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask to speak WebSocket."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER_BYTES, LOW_WATER_BYTES)
        request = self._protocol.connect()
        for name, value in self._headers:
            request.headers[name.decode()] = value.decode("latin-1")
        self._protocol.send_request(request)
        self._flush()
        self._timer = self._loop.call_later(self._keep_alive_after, self._check_life)

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        self._was_heard = True
        if not self._is_open:
            if not self.answered.done():
                self._shake_hands(data)
            return
        if self._rest or self._wanted:
            self._rest += data
            if len(self._rest) < self._wanted:
                return
            data = bytes(self._rest)
            self._rest.clear()
        self._wanted = 0
        if self._skips:
            data = self._skip(data)
        self._split(data)

    def eof_received(self) -> None:
        """Learn that the server sends no more."""
        if not self._is_open:
            self._protocol.receive_eof()
            self._read_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the connection is gone."""
        self._lose(1006, "" if exc is None else str(exc))

    def pause_writing(self) -> None:
        """Learn that the system takes no more."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Learn that the system takes bytes again."""
        self.is_full = False
        self._user.room_changed()

    # Inside.

    def _shake_hands(self, data: bytes) -> None:
        """Give the library the answer to the handshake, and nothing that comes after it."""
        self._rest += data
        end = self._rest.find(b"\r\n\r\n") + 4
        if end < 4:
            if len(self._rest) > _MAX_HEAD_BYTES:
                self._lose(1006, "the answer to the handshake is too long")
            return
        answer = bytes(self._rest)
        self._rest.clear()
        is_accepted = answer.startswith(_ACCEPTED)
        self._protocol.receive_data(answer[:end] if is_accepted else answer)
        self._read_answer()
        if self._is_open and answer[end:]:
            self._split(answer[end:])

    def _read_answer(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Response) and not self.answered.done():
                self._is_open = self._protocol.state is State.OPEN
                self.answered.set_result(event)
        if self._protocol.handshake_exc is not None and not self.answered.done():
            self._lose(1006, "the server does not speak WebSocket")
        self._flush()

    def _split(self, data: bytes) -> None:
        """Cut whole frames out of bytes; texts are taken here, the others by the library."""
        texts: list[bytes] = []
        place, end = 0, len(data)
        while (left := end - place) >= 2:
            length, header, is_masked = data[place + 1], 2, data[place + 1] > 127
            if is_masked:  # which a server must not; the library finds the words for it
                header, length = left, 0
            elif length > 125:
                header = 4 if length == 126 else 10
                length = int.from_bytes(data[place + 2 : place + header], "big")
            is_short = length <= self._max_bytes and not is_masked
            if left < header or (is_short and left < header + length):
                self._wanted = header if left < header else header + length
                break
            if not is_short and not is_masked:
                self._hand(texts)
                data, texts, place = self._begin_skip(data, place, header, length), [], 0
                if self._transport is None:
                    return
                end = len(data)
                continue
            if is_short and data[place] == _TEXT and not self._fragments and self._long is None:
                texts.append(data[place + header : place + header + length])
            else:
                self._hand(texts)
                texts = []
                if self._transport is not None:
                    self._by_library(data[place : place + header + length], texts)
                if self._transport is None:
                    return
            place += header + length
        self._rest += data[place:]
        self._hand(texts)

    def _begin_skip(self, data: bytes, place: int, header: int, length: int) -> bytes:
        """Pass over a frame; returns what comes behind it."""
        self._skips, self._skips_first = length, data[place]
        if is_wrong(data[place], length) and self._transport is not None:
            self._by_library(wrong_frame(data[place]), [])
        return self._skip(data[place + header :])

    def _skip(self, data: bytes) -> bytes:
        """Pass over a frame that is too long; returns what comes behind it."""
        part = data[: self._skips]
        self._skips -= len(part)
        self._long = self._long or Edges()
        self._long.add(b"".join(self._fragments))
        self._long.add(part)
        self._fragments.clear()
        if not self._skips and self._transport is not None:
            self._by_library(bytes((self._skips_first, 0)), [])
        return data[len(part) :]

    def _hand(self, texts: list[bytes]) -> None:
        """Hand texts on, up to one that is none."""
        count = 0
        try:
            for text in texts:
                str(text, "utf-8")
                count += 1
        except UnicodeDecodeError:
            self._protocol.fail(CloseCode.INVALID_DATA)
            self._flush()
        if count:
            self._user.texts_received(texts[:count])
        if count < len(texts):
            self._lose(CloseCode.INVALID_DATA, f"{_BROKEN}: a text is none", is_polite=True)

    def _by_library(self, data: bytes, texts: list[bytes]) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame(event, texts)
        self._after_library()

    def _after_library(self) -> None:
        self._flush()
        closed, failed = self._protocol.close_rcvd, self._protocol.close_sent
        if closed is not None:
            self._lose(closed.code, closed.reason, is_polite=True)
        elif self._protocol.parser_exc is not None:
            code, reason = (1006, "") if failed is None else (failed.code, failed.reason)
            self._lose(code, f"{_BROKEN}: {reason}", is_polite=True)

    def _frame(self, frame: Frame, texts: list[bytes]) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._is_text = frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return
        self._fragments.append(bytes(frame.data))
        self._fragments_bytes += len(frame.data)
        if self._fragments_bytes > self._max_bytes:
            self._long = self._long or Edges()
        if self._long is not None:
            self._long.add(b"".join(self._fragments))
            self._fragments.clear()
        if not frame.fin:
            return
        self._whole(b"".join(self._fragments), texts)
        self._fragments.clear()
        self._fragments_bytes = 0

    def _whole(self, data: bytes, texts: list[bytes]) -> None:
        """Take a message, or what is left of it."""
        long, self._long = self._long, None
        if long is not None and self._is_text:
            self._hand(texts)
            texts.clear()
            self._user.texts_received([long.frame(self._max_bytes)])
        elif long is None and self._is_text:
            texts.append(data)
        elif long is None:
            self._user.binary_received(data)

    def _flush(self) -> None:
        self._flushes = False
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

    def _check_life(self) -> None:
        if self._transport is None:
            return
        if self._was_heard:
            self._was_heard = self._is_asked = False
        elif self._is_asked:
            self._lose(1006, "the server gives no sign of life")
            return
        elif self._is_open and self._protocol.state is State.OPEN:
            self._is_asked = True
            self._protocol.send_ping(b"")
            self._flush()
        self._timer = self._loop.call_later(self._keep_alive_after, self._check_life)

    def _lose(self, code: int, reason: str, *, is_polite: bool = False) -> None:
        transport, self._transport = self._transport, None
        if transport is None:
            return
        if is_polite:
            transport.close()
        else:
            transport.abort()
        if self._timer is not None:
            self._timer.cancel()
        if not self.answered.done():
            text = reason or "the server closed the connection"
            self.answered.set_exception(Interrupted(text))
            self.answered.exception()  # whoever waited for it may have left
            return
        if self._is_open:
            self._user.socket_lost(self, code, reason)
