"""HTTP/2 to one server: one connection, many requests at once.

What is written in one turn of the event loop leaves together. A body goes out as far as the
server's windows allow; what comes in is counted and given back as it is taken. A server that takes
no more requests (GOAWAY) still answers those it has taken; the others are failed as unseen. When
nothing was heard for a while the server is asked for a sign of life.
Spec: https://www.rfc-editor.org/rfc/rfc9113
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError, StreamClosedError

from parley.transport.http.codec_h2 import ClientCodec

from .address import KEEP_ALIVE_AFTER
from .response import Headers, Interrupted, Response

__all__ = ["H2Client"]

_STREAM_WINDOW = 256 * 1024
_CONNECTION_WINDOW = 2 * 1024 * 1024
"""What may be on its way to us; less than servers keep for us, so that nothing of it is lost."""
_GIVE_BACK_BYTES = 32 * 1024
_MAX_FRAME_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 64 * 1024


class H2Client(asyncio.Protocol):
    """One connection."""

    def __init__(
        self,
        scheme: bytes,
        authority: bytes,
        *,
        on_change: Callable[[], None],
        keep_alive_after: float = KEEP_ALIVE_AFTER,
    ) -> None:
        """Prepare a connection.

        Args:
            scheme: `http` or `https`.
            authority: The server's name and port.
            on_change: Called when there may be room for another request, or never again.
            keep_alive_after: How long it may be silent.
        """
        self._loop = asyncio.get_running_loop()
        self._head = [(b":scheme", scheme), (b":authority", authority)]
        self._on_change = on_change
        self._keep_alive_after = keep_alive_after
        self.speaks: asyncio.Future[bool] = self._loop.create_future()
        """Whether the server speaks HTTP/2; known with its first bytes."""
        self.lost: Interrupted | None = None
        """Why there are no more requests on this connection."""
        self._h2 = ClientCodec(
            stream_window=_STREAM_WINDOW, frame_bytes=_MAX_FRAME_BYTES, head_bytes=_MAX_HEAD_BYTES
        )
        self._handlers: dict[type[Event], Callable[[Any], None]] = {
            RemoteSettingsChanged: self._settings_changed,
            ResponseReceived: self._response_received,
            DataReceived: self._data_event,
            StreamEnded: self._stream_ended,
            StreamReset: self._stream_reset,
            WindowUpdated: self._window_updated,
            ConnectionTerminated: self._going_away,
        }
        self._streams: dict[int, Response] = {}
        self._unsent: dict[int, memoryview] = {}
        self._owed: dict[int, int] = {}
        self._transport: asyncio.Transport | None = None
        self._is_full = False
        self._flushes = False
        self._was_heard = True
        self._is_asked = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return not self._streams

    @property
    def is_crowded(self) -> bool:
        """Whether the server allows no more streams; most of those that there are stay."""
        return len(self._streams) >= self._h2.remote_settings.max_concurrent_streams

    def has_room(self) -> bool:
        """Tell whether another request may be begun."""
        return self.lost is None and not self.is_crowded and not self._is_full

    def begin(self, method: bytes, path: bytes, headers: Headers, body: bytes) -> Response:
        """Send a request."""
        h2 = self._h2
        id = h2.get_next_available_stream_id()
        head = [(b":method", method), *self._head, (b":path", path), *headers]
        response = Response(self, id)
        h2.send_headers(id, head, end_stream=not body)
        self._streams[id] = response
        if body:
            self._unsent[id] = memoryview(body)
            self._send_body(id)
        self._flush_soon()
        return response

    # What a response asks for.

    def taken(self, response: Response, size: int) -> None:
        """Give room back, many pieces at once."""
        id = response.stream_id
        owed = self._owed.get(id, 0) + size
        if owed < _GIVE_BACK_BYTES and id in self._streams:
            self._owed[id] = owed
        else:
            self._give_back(id, owed)

    def hold(self, response: Response, is_held: bool) -> None:
        """Do nothing: who takes nothing gives no room back."""

    def abandon(self, response: Response) -> None:
        """Reset a stream that nobody wants any more."""
        if self._streams.pop(response.stream_id, None) is None or self._transport is None:
            return
        self._unsent.pop(response.stream_id, None)
        self._give_back(response.stream_id, self._owed.get(response.stream_id, 0))
        with suppress(ProtocolError):  # it may have ended in the meantime
            self._h2.reset_stream(response.stream_id, ErrorCodes.CANCEL)
        self._h2.forget(response.stream_id)
        self._flush_soon()
        self._on_change()

    def close(self, reason: str = "the connection was closed by us") -> None:
        """End the connection; what is under way fails."""
        if self._transport is not None and not self._transport.is_closing():
            self._h2.close_connection()
            self._flush()
        self._lose(Interrupted(reason), is_polite=True)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say hello."""
        self._transport = cast(asyncio.Transport, transport)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_CONNECTION_WINDOW - 65535)
        self._flush()
        self._timer = self._loop.call_later(self._keep_alive_after, self._check_life)

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        self._was_heard = True
        if not self.speaks.done() and data.startswith(b"HTTP/"):
            self.speaks.set_result(False)
            return
        if self._flushes:
            self._flush()  # a GOAWAY would make the library forget it
        try:
            for event in self._h2.receive_data(data):
                if (handle := self._handlers.get(type(event))) is not None:
                    handle(event)
        except ProtocolError as error:
            self._flush()
            self._lose(Interrupted(f"the server broke a rule of HTTP/2: {error}"))
            return
        self._flush_soon()
        if not self._streams and self.lost is not None:
            self._lose(self.lost, is_polite=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the connection is gone."""
        text = "the server closed the connection" if exc is None else f"the connection broke: {exc}"
        self._lose(Interrupted(text))

    def pause_writing(self) -> None:
        """Stop sending bodies."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Go on sending bodies."""
        self._is_full = False
        self._send_bodies()
        self._on_change()

    # Events of the library.

    def _settings_changed(self, event: RemoteSettingsChanged) -> None:
        if not self.speaks.done():
            self.speaks.set_result(True)
        self._send_bodies()
        self._on_change()

    def _response_received(self, event: ResponseReceived) -> None:
        response = self._streams.get(event.stream_id)
        if response is None:
            return
        headers = event.headers
        if (status := _status(headers)) is not None:
            response.head_received(status, headers)
        else:
            self._h2.reset_stream(event.stream_id, ErrorCodes.PROTOCOL_ERROR)
            self._finish(event.stream_id, Interrupted("the server answered without a status"))

    def _data_event(self, event: DataReceived) -> None:
        response = self._streams.get(event.stream_id)
        if response is None:
            self._give_back(event.stream_id, event.flow_controlled_length)
        else:
            response.data_received(event.data, event.flow_controlled_length)

    def _stream_ended(self, event: StreamEnded) -> None:
        self._finish(event.stream_id, None)

    def _stream_reset(self, event: StreamReset) -> None:
        unseen = event.error_code == ErrorCodes.REFUSED_STREAM
        text = f"the server ended the request ({_name(event.error_code)})"
        self._finish(event.stream_id, Interrupted(text, is_unseen=unseen))

    def _window_updated(self, event: WindowUpdated) -> None:
        if self._unsent:
            self._send_bodies()

    def _going_away(self, event: ConnectionTerminated) -> None:
        text = f"the server takes no more requests ({_name(event.error_code)})"
        if self.lost is None:
            self.lost = Interrupted(text)
        last = event.last_stream_id or 0
        for id in [id for id in self._streams if id > last]:
            self._finish(id, Interrupted(text, is_unseen=True))
        if event.error_code:
            self._lose(self.lost)
        self._on_change()

    # Inside.

    def _finish(self, id: int, error: Interrupted | None) -> None:
        response = self._streams.pop(id, None)
        if response is None:
            return
        if self._unsent.pop(id, None) is not None and error is None:
            self._h2.reset_stream(id, ErrorCodes.CANCEL)  # answered before all of it was sent
        self._give_back(id, self._owed.pop(id, 0))
        self._h2.forget(id)
        response.ended(error)
        self._on_change()

    def _give_back(self, id: int, size: int) -> None:
        self._owed.pop(id, None)
        if size and self._transport is not None:
            self._h2.acknowledge_received_data(size, id)
            self._flush_soon()

    def _send_bodies(self) -> None:
        for id in list(self._unsent):
            self._send_body(id)
        self._flush_soon()

    def _send_body(self, id: int) -> None:
        h2, rest = self._h2, self._unsent[id]
        while rest and not self._is_full:
            size = min(len(rest), h2.local_flow_control_window(id), h2.max_outbound_frame_size)
            if size <= 0:
                break
            try:
                h2.send_data(id, bytes(rest[:size]), end_stream=size == len(rest))
            except StreamClosedError:  # by a reset that came in the same piece: its event follows
                rest = rest[:0]
                break
            rest = rest[size:]
            if len(rest) > _STREAM_WINDOW:
                self._flush()  # so that what the socket does not take is noticed
        if rest:
            self._unsent[id] = rest
        else:
            del self._unsent[id]

    def _flush_soon(self) -> None:
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushes = False
        data = self._h2.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)

    def _check_life(self) -> None:
        if self._transport is None:
            return
        if self._was_heard:
            self._was_heard = self._is_asked = False
        elif self._is_asked:
            self._lose(Interrupted("the server gives no sign of life"))
            return
        else:
            self._is_asked = True
            self._h2.ping(b"parley..")
            self._flush_soon()
        self._timer = self._loop.call_later(self._keep_alive_after, self._check_life)

    def _lose(self, reason: Interrupted, *, is_polite: bool = False) -> None:
        """Fail what is under way, once, and close."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self.lost = self.lost or reason
        if self._timer is not None:
            self._timer.cancel()
        if not self.speaks.done():
            self.speaks.set_result(False)
        streams, self._streams = self._streams, {}
        self._unsent.clear()
        for response in streams.values():
            response.ended(reason)
        if is_polite:
            transport.close()
        else:
            transport.abort()
        self._on_change()


def _status(headers: Headers) -> int | None:
    """Return the status, which is the first field; the library does not look at it."""
    name, value = headers[0] if headers else (b"", b"")
    is_status = name == b":status" and len(value) == 3 and value.isdigit()
    return int(value) if is_status else None


def _name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else f"error {code}"
