"""An HTTP/2 client connection, which carries many requests at once.

Everything written in one iteration of the event loop is sent together. A body is sent as far as the
server's flow-control windows allow; our windows are reopened as the data is consumed. A server that
accepts no more requests (GOAWAY) still responds to those it has accepted; the others fail as
unprocessed. A silent server is pinged after a while.
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

from .address import KEEP_ALIVE_AFTER
from .coalesced_flush import CoalescedFlush
from .h2_codec import ClientCodec
from .keep_alive import KeepAliveTimer
from .response import Headers, RequestInterrupted, Response

_STREAM_WINDOW = 256 * 1024
_CONNECTION_WINDOW = 2 * 1024 * 1024
"""Bytes in flight to us; less than servers keep for resuming, so that none of them can be lost."""
_ACKNOWLEDGE_BYTES = 32 * 1024
_MAX_FRAME_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 64 * 1024


class H2Client(asyncio.Protocol):
    """One HTTP/2 connection; see `HttpConnectionPool`."""

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
            authority: The server's host name and port.
            on_change: Called when another request may be possible, or the connection is lost.
            keep_alive_after: Seconds of silence after which the server is pinged.
        """
        self._loop = asyncio.get_running_loop()
        self._head = [(b":scheme", scheme), (b":authority", authority)]
        self._on_change = on_change
        self.is_http2: asyncio.Future[bool] = self._loop.create_future()
        """Resolved by the server's first bytes: whether it speaks HTTP/2."""
        self.close_reason: RequestInterrupted | None = None
        """Why no more requests can be sent on this connection; None while they can."""
        self._h2 = ClientCodec(
            stream_window=_STREAM_WINDOW, frame_bytes=_MAX_FRAME_BYTES, head_bytes=_MAX_HEAD_BYTES
        )
        self._handlers: dict[type[Event], Callable[[Any], None]] = {
            RemoteSettingsChanged: self._settings_changed,
            ResponseReceived: self._response_received,
            DataReceived: self._data_frame_received,
            StreamEnded: self._stream_ended,
            StreamReset: self._stream_reset,
            WindowUpdated: self._window_updated,
            ConnectionTerminated: self._goaway_received,
        }
        self._streams: dict[int, Response] = {}
        self._unsent: dict[int, memoryview] = {}
        self._unacknowledged_bytes: dict[int, int] = {}
        self._transport: asyncio.Transport | None = None
        self._is_full = False
        self._coalesced_flush = CoalescedFlush(self._flush)
        self._flush_soon = self._coalesced_flush.schedule
        self._keep_alive = KeepAliveTimer(
            keep_alive_after, ping=self._ping, on_silence=self._peer_is_silent
        )

    @property
    def is_idle(self) -> bool:
        """Whether no request is pending."""
        return not self._streams

    @property
    def is_at_stream_limit(self) -> bool:
        """Whether the server allows no more streams; most of the open ones are long-lived."""
        return len(self._streams) >= self._h2.remote_settings.max_concurrent_streams

    def is_available(self) -> bool:
        """Return whether another request can be sent now."""
        return self.close_reason is None and not self.is_at_stream_limit and not self._is_full

    def send_request(self, method: bytes, path: bytes, headers: Headers, body: bytes) -> Response:
        """Send a request and return its response, which is filled in as it arrives."""
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

    # Called by `Response` (the `ResponseConnection` protocol).

    def data_consumed(self, response: Response, size: int) -> None:
        """Reopen the flow-control window, for several chunks at once."""
        id = response.stream_id
        consumed = self._unacknowledged_bytes.get(id, 0) + size
        if consumed < _ACKNOWLEDGE_BYTES and id in self._streams:
            self._unacknowledged_bytes[id] = consumed
        else:
            self._acknowledge_data(id, consumed)

    def set_paused(self, response: Response, is_paused: bool) -> None:
        """Do nothing: the window is not reopened while nothing is consumed."""

    def cancel_request(self, response: Response) -> None:
        """Reset the stream of a response that is no longer wanted."""
        if self._streams.pop(response.stream_id, None) is None or self._transport is None:
            return
        self._unsent.pop(response.stream_id, None)
        self._acknowledge_data(
            response.stream_id, self._unacknowledged_bytes.get(response.stream_id, 0)
        )
        with suppress(ProtocolError):  # it may have ended in the meantime
            self._h2.reset_stream(response.stream_id, ErrorCodes.CANCEL)
        self._h2.forget(response.stream_id)
        self._flush_soon()
        self._on_change()

    def close(self, reason: str = "the connection was closed by us") -> None:
        """Close the connection; pending requests fail."""
        if self._transport is not None and not self._transport.is_closing():
            self._h2.close_connection()
            self._flush()
        self._disconnect(RequestInterrupted(reason), is_graceful=True)

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the connection preface and our settings, and start the keep-alive timer."""
        self._transport = cast(asyncio.Transport, transport)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(_CONNECTION_WINDOW - 65535)
        self._flush()
        self._keep_alive.start()

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the server."""
        self._keep_alive.has_received = True
        if not self.is_http2.done() and data.startswith(b"HTTP/"):
            self.is_http2.set_result(False)
            return
        try:
            for event in self._h2.receive_data(data):
                if (handle := self._handlers.get(type(event))) is not None:
                    handle(event)
        except ProtocolError as error:
            self._flush()
            self._disconnect(
                RequestInterrupted(f"the server violated the HTTP/2 protocol: {error}")
            )
            return
        self._flush_soon()
        if not self._streams and self.close_reason is not None:
            self._disconnect(self.close_reason, is_graceful=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending requests: the connection is closed."""
        text = (
            "the server closed the connection" if exc is None else f"the connection was lost: {exc}"
        )
        self._disconnect(RequestInterrupted(text))

    def pause_writing(self) -> None:
        """Stop sending bodies: the socket's buffer is full."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Resume sending bodies."""
        self._is_full = False
        self._send_bodies()
        self._on_change()

    # Events from h2.

    def _settings_changed(self, event: RemoteSettingsChanged) -> None:
        if not self.is_http2.done():
            self.is_http2.set_result(True)
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
            self._finish(
                event.stream_id, RequestInterrupted("the server sent a response without a status")
            )

    def _data_frame_received(self, event: DataReceived) -> None:
        response = self._streams.get(event.stream_id)
        if response is None:
            self._acknowledge_data(event.stream_id, event.flow_controlled_length)
        else:
            response.data_received(event.data, event.flow_controlled_length)

    def _stream_ended(self, event: StreamEnded) -> None:
        self._finish(event.stream_id, None)

    def _stream_reset(self, event: StreamReset) -> None:
        unprocessed = event.error_code == ErrorCodes.REFUSED_STREAM
        text = f"the server reset the request ({_name(event.error_code)})"
        self._finish(event.stream_id, RequestInterrupted(text, is_unprocessed=unprocessed))

    def _window_updated(self, event: WindowUpdated) -> None:
        if self._unsent:
            self._send_bodies()

    def _goaway_received(self, event: ConnectionTerminated) -> None:
        text = f"the server accepts no more requests ({_name(event.error_code)})"
        if self.close_reason is None:
            self.close_reason = RequestInterrupted(text)
        last = event.last_stream_id or 0  # the server has not processed later streams
        for id in [id for id in self._streams if id > last]:
            self._finish(id, RequestInterrupted(text, is_unprocessed=True))
        if event.error_code:
            self._disconnect(self.close_reason)
        self._on_change()

    # Internals.

    def _finish(self, id: int, error: RequestInterrupted | None) -> None:
        response = self._streams.pop(id, None)
        if response is None:
            return
        if self._unsent.pop(id, None) is not None and error is None:
            self._h2.reset_stream(
                id, ErrorCodes.CANCEL
            )  # the server responded before the body was sent
        self._acknowledge_data(id, self._unacknowledged_bytes.pop(id, 0))
        self._h2.forget(id)
        response.ended(error)
        self._on_change()

    def _acknowledge_data(self, id: int, size: int) -> None:
        self._unacknowledged_bytes.pop(id, None)
        if size and self._transport is not None:
            self._h2.acknowledge_received_data(size, id)
            self._flush_soon()

    def _send_bodies(self) -> None:
        for id in list(self._unsent):
            self._send_body(id)
        self._flush_soon()

    def _send_body(self, id: int) -> None:
        """Send as much of a body as flow control and the socket's buffer allow."""
        h2, rest = self._h2, self._unsent[id]
        while rest and not self._is_full:
            size = min(len(rest), h2.local_flow_control_window(id), h2.max_outbound_frame_size)
            if size <= 0:
                break
            try:
                h2.send_data(id, bytes(rest[:size]), end_stream=size == len(rest))
            except StreamClosedError:  # by a reset in the same chunk: its event follows
                rest = rest[:0]
                break
            rest = rest[size:]
            if len(rest) > _STREAM_WINDOW:
                self._flush()  # fill the socket's buffer, so that `pause_writing` is called
        if rest:
            self._unsent[id] = rest
        else:
            del self._unsent[id]

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)

    def _ping(self) -> bool:
        self._h2.ping(b"parley..")
        self._flush_soon()
        return True

    def _peer_is_silent(self) -> None:
        self._disconnect(RequestInterrupted("the server does not respond to pings"))

    def _disconnect(self, reason: RequestInterrupted, *, is_graceful: bool = False) -> None:
        """Fail the pending requests and close the connection; later calls do nothing."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self.close_reason = self.close_reason or reason
        self._keep_alive.stop()
        if not self.is_http2.done():
            self.is_http2.set_result(False)
        streams, self._streams = self._streams, {}
        self._unsent.clear()
        for response in streams.values():
            response.ended(reason)
        if is_graceful:
            transport.close()
        else:
            transport.abort()
        self._on_change()


def _status(headers: Headers) -> int | None:
    """Return the status, which must be the first field, or None; h2 does not validate it."""
    name, value = headers[0] if headers else (b"", b"")
    is_status = name == b":status" and len(value) == 3 and value.isdigit()
    return int(value) if is_status else None


def _name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else f"error {code}"
