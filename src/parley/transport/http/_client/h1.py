"""An HTTP/1.1 client connection, which carries one request at a time.

It is the fallback for servers that do not speak HTTP/2. An event stream occupies a connection of
its own; consecutive requests share one as long as the server keeps it open.
Spec: https://www.rfc-editor.org/rfc/rfc9112
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from time import monotonic
from typing import cast

import h11

from .response import Headers, RequestInterrupted, Response

_MAX_HEAD_BYTES = 64 * 1024
_IDLE_AFTER = 4.0
"""Seconds for which an idle connection is reused; many servers close it after five."""
_STATUS_LINE_PREFIX = b"HTTP/"
_TIMEOUT = re.compile(r"timeout=(\d{1,9})")


class H1Client(asyncio.Protocol):
    """One HTTP/1.1 connection; see `HttpConnectionPool`."""

    def __init__(self, authority: bytes, *, on_change: Callable[[], None]) -> None:
        """Prepare a connection.

        Args:
            authority: The server's host name and port.
            on_change: Called when another request may be possible, or the connection is lost.
        """
        self._authority = authority
        self._on_change = on_change
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._expires_at = monotonic() + _IDLE_AFTER
        self._is_awaiting_head = False
        self._keep_alive_for = _IDLE_AFTER
        self.close_reason: RequestInterrupted | None = None
        """Why no more requests can be sent on this connection; None while they can."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is pending."""
        return self._response is None

    def is_available(self) -> bool:
        """Return whether another request can be sent now."""
        return (
            self.close_reason is None and self._response is None and monotonic() < self._expires_at
        )

    def send_request(self, method: bytes, path: bytes, headers: Headers, body: bytes) -> Response:
        """Send a request and return its response, which is filled in as it arrives."""
        assert self._transport is not None
        head = [(b"host", self._authority), *headers]
        if body or method == b"POST":
            head.append((b"content-length", b"%d" % len(body)))
        response = self._response = Response(self)
        self._is_awaiting_head = True
        request = h11.Request(method=method, target=path, headers=head)
        data = self._h11.send(request) or b""
        if body:
            data += self._h11.send(h11.Data(data=body)) or b""
        data += self._h11.send(h11.EndOfMessage()) or b""
        self._transport.write(data)
        return response

    # Called by `Response` (the `ResponseConnection` protocol).

    def data_consumed(self, response: Response, size: int) -> None:
        """Do nothing: TCP does the flow control."""

    def set_paused(self, response: Response, is_paused: bool) -> None:
        """Pause or resume reading from the socket."""
        if self._transport is None or response is not self._response:
            return
        if is_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def cancel_request(self, response: Response) -> None:
        """Close the connection: HTTP/1.1 has no other way to cancel a request."""
        if response is self._response:
            self._disconnect(RequestInterrupted("the request was cancelled"))

    def close(self, reason: str = "the connection was closed by us") -> None:
        """Close the connection; pending requests fail."""
        self._disconnect(RequestInterrupted(reason), is_graceful=True)

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Handle bytes from the server."""
        response = self._response
        if response is None:
            self._disconnect(
                RequestInterrupted(
                    "the server sent data before any request; it is not an HTTP server"
                )
            )
        elif self._is_awaiting_head and not data.startswith(_STATUS_LINE_PREFIX[: len(data)]):
            self._disconnect(RequestInterrupted("the server does not speak HTTP"))
        else:
            self._is_awaiting_head = False
            self._read(data)

    def eof_received(self) -> None:
        """Complete or fail the pending response: the server sends no more."""
        if self._response is not None:
            self._read(b"")

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending requests: the connection is closed."""
        text = (
            "the server closed the connection" if exc is None else f"the connection was lost: {exc}"
        )
        self._disconnect(RequestInterrupted(text))

    # Internals.

    def _read(self, data: bytes) -> None:
        try:
            self._h11.receive_data(data)
            while self._response is not None:
                event = self._h11.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                self._handle_event(event, self._response)
        except h11.RemoteProtocolError as error:
            text = (
                "the server closed the connection" if not data else f"not valid HTTP/1.1: {error}"
            )
            self._disconnect(RequestInterrupted(text))

    def _handle_event(self, event: object, response: Response) -> None:
        if isinstance(event, h11.Response):
            if found := _TIMEOUT.search(_header(event, b"keep-alive")):
                # Stop reusing it a second early, so that a request does not meet the close.
                self._keep_alive_for = max(0.0, min(_IDLE_AFTER, int(found[1]) - 1.0))
            response.head_received(event.status_code, list(event.headers))
        elif isinstance(event, h11.Data):
            response.data_received(bytes(event.data), len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._finish(response)
        elif isinstance(event, h11.ConnectionClosed):
            self._disconnect(RequestInterrupted("the server closed the connection"))

    def _finish(self, response: Response) -> None:
        """Make the connection ready for the next request, then report the end of the response."""
        self._response = None
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            self._expires_at = monotonic() + self._keep_alive_for
        else:
            self._disconnect(
                RequestInterrupted("the server closed the connection"), is_graceful=True
            )
        response.ended()
        self._on_change()

    def _disconnect(self, reason: RequestInterrupted, *, is_graceful: bool = False) -> None:
        """Fail the pending requests and close the connection; later calls do nothing."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self.close_reason = reason
        response, self._response = self._response, None
        if response is not None:
            response.ended(reason)
        if is_graceful:
            transport.close()
        else:
            transport.abort()
        self._on_change()


def _header(event: h11.Response, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in event.headers if key == name), "")
