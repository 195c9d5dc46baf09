"""HTTP/1.1, on h11: one request after the other, responses chunked or with a Content-Length.

The head of a request is collected and checked here before h11 sees it, because h11 is lenient where
leniency lets two readers of the same bytes see two different requests (request smuggling): line
ends without CR, folded lines, a repeated length or a length together with chunks. All of these get
400, and the connection ends, because it is unknown where the next request would start.
"""

from __future__ import annotations

import re
from http import HTTPStatus

import h11

from ._asgi_types import Headers
from ._request_cycle import RequestResponseCycle
from ._request_head import MalformedRequestHead, RequestHead, scope_of
from ._send_window import SendWindow
from ._socket_connection import SocketConnection
from ._ws import WebSocketProtocol

_CHUNK_BYTES = 64 * 1024
_STRAY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n)|\r\n[ \t]").search
_LENGTHS = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*([^\r]*)", re.IGNORECASE).findall
_REASONS = {status.value: status.phrase.encode("ascii") for status in HTTPStatus}


def error_response(status: int) -> bytes:
    """Return a complete error response, encoded, that closes the connection."""
    reason = _REASONS[status]
    head = b"HTTP/1.1 %d %b\r\ncontent-length: %d\r\nconnection: close\r\n" % (
        status,
        reason,
        len(reason),
    )
    return head + b"content-type: text/plain; charset=utf-8\r\n\r\n" + reason


class H1Protocol:
    """The HTTP/1.1 protocol of one connection; an `HttpProtocol` and a `ResponseWriter`."""

    __slots__ = (
        "_codec",
        "_connection",
        "_cycle",
        "_head",
        "_is_idle",
        "_limits",
        "_scanned_bytes",
        "_send_window",
        "_waiting_since",
    )

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection
        self._limits = connection.limits
        self._send_window = SendWindow(
            connection.limits.unsent_bytes, connection.limits.connection_unsent_bytes
        )
        self._head = bytearray()
        """The bytes that were read of the next request."""
        self._scanned_bytes = 0
        self._codec: h11.Connection | None = None
        self._cycle: RequestResponseCycle | None = None
        self._is_idle = False
        self._waiting_since = connection.last_active_at

    def data_received(self, data: memoryview) -> None:
        """Handle received bytes: a part of a head or of a body."""
        cycle, codec = self._cycle, self._codec
        if cycle is not None and codec is not None and not cycle.is_body_ended:
            if not cycle.is_disconnected:  # otherwise it was rejected, and the rest is ignored
                codec.receive_data(bytes(data))
                self._read_body(cycle, codec)
            return
        if not self._head:
            self._waiting_since = self._connection.last_active_at
            self._is_idle = False
        self._head += data
        if cycle is None:
            self._read_head()
        elif len(self._head) >= _CHUNK_BYTES:  # pipelined requests can wait
            self._connection.pause_reading()

    def flush(self) -> None:
        """Write what the application has sent of the response."""
        cycle, codec = self._cycle, self._codec
        if cycle is None or codec is None:
            return
        try:
            self._send_response(cycle, codec)
        except h11.LocalProtocolError:  # the body does not match the Content-Length
            self.response_broken(cycle)

    def connection_lost(self) -> None:
        """Notify the application that the peer has disconnected."""
        cycle, self._cycle = self._cycle, None
        if cycle is not None:
            cycle.disconnect()

    def tick(self, now: float) -> None:
        """Enforce the timeouts for heads, bodies and idle connections."""
        cycle = self._cycle
        if cycle is not None:
            silent = now - self._connection.last_active_at
            if cycle.is_awaiting_body and silent >= self._limits.body_timeout:
                cycle.reject(408)
        elif self._is_idle:
            if now - self._waiting_since >= self._limits.idle_timeout:
                self._connection.close()
        elif now - self._waiting_since >= self._limits.head_timeout:
            if self._head:
                self._connection.write(error_response(408))
            self._connection.close()

    def drain(self) -> None:
        """Close after the response to the current request; at once if there is none."""
        if self._cycle is None:
            self._connection.close()

    def terminate(self) -> None:
        """Close in the middle of the response, so that it does not look complete."""
        self._connection.close()

    def response_ready(self, cycle: RequestResponseCycle) -> None:
        """Schedule a flush for the end of this event loop iteration."""
        self._connection.schedule_flush()

    def body_wanted(self, cycle: RequestResponseCycle) -> None:
        """Send `100 Continue` if the peer waits for it."""
        codec = self._codec
        if codec is not None and codec.they_are_waiting_for_100_continue and not cycle.status:
            event = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self._connection.write(codec.send(event) or b"")

    def body_consumed(self, cycle: RequestResponseCycle, size: int) -> None:
        """Resume reading."""
        if cycle is self._cycle and len(self._head) < _CHUNK_BYTES:
            self._connection.resume_reading()

    def response_broken(self, cycle: RequestResponseCycle) -> None:
        """End the connection: the only way to signal that a response is incomplete."""
        self._connection.close()

    def _read_head(self) -> None:
        head = self._head
        while head.startswith(b"\r\n"):  # empty lines are allowed before a request
            del head[:2]
        end = head.find(b"\r\n\r\n", max(0, self._scanned_bytes - 3))
        piece = head if end < 0 else head[: end + 2]
        # A CR at the end of an incomplete head is not stray: its LF may still arrive.
        stray = _STRAY_BYTE(piece, max(0, self._scanned_bytes - 2))
        if stray and (end >= 0 or stray.group() != b"\r" or stray.end() < len(piece)):
            self._reject(400)
            return
        self._scanned_bytes = len(head)
        if self._is_too_long(piece) or end < 0:
            return
        self._scanned_bytes = 0
        raw_head = bytes(head[: end + 4])
        del head[: end + 4]
        try:
            self._start_request(raw_head)
        except MalformedRequestHead as malformed:
            self._reject(malformed.status)
        except h11.RemoteProtocolError as error:
            self._reject(error.error_status_hint)

    def _is_too_long(self, head: bytearray) -> bool:
        line = head.find(b"\r\n")
        line = len(head) if line < 0 else line
        if line > self._limits.target_bytes + 64:
            self._reject(414)
        elif len(head) > self._limits.header_bytes:
            self._reject(431)
        else:
            return False
        return True

    def _reject(self, status: int) -> None:
        self._connection.write(error_response(status))
        self._connection.close()

    def _start_request(self, raw_head: bytes) -> None:
        """Start the application for a request whose head is complete."""
        codec = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.header_bytes)
        codec.receive_data(raw_head)
        event = codec.next_event()
        if not isinstance(event, h11.Request):
            raise MalformedRequestHead(400, "not a request")
        headers: Headers = list(event.headers)
        names = [name for name, _ in headers]
        lengths = _LENGTHS(raw_head)
        if len(lengths) > 1 or (lengths and b"transfer-encoding" in names):
            raise MalformedRequestHead(400, "more than one length")
        if lengths and not lengths[0].strip().isdigit():
            raise MalformedRequestHead(400, "an invalid length")
        http_version = event.http_version.decode("ascii")
        if not http_version.startswith("1."):
            raise MalformedRequestHead(505, "an unsupported version of HTTP")
        head = RequestHead(http_version, event.method.decode("ascii"), event.target, None, headers)
        if lengths and int(lengths[0]) > self._limits.body_bytes:
            raise MalformedRequestHead(413, "the body is too long")
        if b"upgrade" in names and WebSocketProtocol.is_upgrade(head):
            if (
                http_version != "1.1"
                or b"transfer-encoding" in names
                or (lengths and int(lengths[0]))
            ):
                raise MalformedRequestHead(
                    400, "an upgrade with a body: it would be read as frames"
                )
            self._upgrade(head, codec)
            return
        scope = scope_of(head, self._connection)
        self._codec = codec
        self._cycle = RequestResponseCycle(self, scope, self._send_window)
        if self._head:
            codec.receive_data(bytes(self._head))
            self._head.clear()
        self._read_body(self._cycle, codec)
        if not self._connection.is_closing:
            self._connection.server_state.spawn(self._cycle.run(self._connection.server_state.app))

    def _upgrade(self, head: RequestHead, codec: h11.Connection) -> None:
        protocol = WebSocketProtocol(self._connection, head, codec)
        self._connection.protocol = protocol
        protocol.begin()
        if self._head:
            protocol.data_received(memoryview(self._head))

    def _read_body(self, cycle: RequestResponseCycle, codec: h11.Connection) -> None:
        while True:
            try:
                event = codec.next_event()
            except h11.RemoteProtocolError:
                cycle.disconnect()
                if not cycle.status:
                    self._connection.write(error_response(400))
                self._connection.close()
                return
            if isinstance(event, h11.Data):
                data = bytes(event.data)
                cycle.feed(data, len(data))
                if cycle.body_bytes > self._limits.body_bytes:
                    cycle.reject(413)
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._head += codec.trailing_data[0]
                cycle.feed_end()
                return
            else:
                break
        if cycle.unread_bytes >= self._limits.unread_bytes:
            self._connection.pause_reading()

    def _send_response(self, cycle: RequestResponseCycle, codec: h11.Connection) -> None:
        connection = self._connection
        if cycle.is_head_pending:
            connection.write(codec.send(self._response_head(cycle)) or b"")
            cycle.is_head_pending = False
        while cycle.unsent_bytes and not connection.is_full:
            data = cycle.take_unsent(_CHUNK_BYTES)
            connection.write(codec.send(h11.Data(data=bytes(data))) or b"")
        if cycle.is_ended and not cycle.unsent_bytes:
            connection.write(codec.send(h11.EndOfMessage()) or b"")
            self._start_next_request(codec)

    def _response_head(self, cycle: RequestResponseCycle) -> h11.Response:
        headers = cycle.headers
        if not cycle.is_body_ended or self._connection.server_state.is_draining:
            headers = [pair for pair in headers if pair[0] != b"connection"]
            headers.append((b"connection", b"close"))
        reason = _REASONS.get(cycle.status, b"")
        return h11.Response(status_code=cycle.status, headers=headers, reason=reason)

    def _start_next_request(self, codec: h11.Connection) -> None:
        """Continue with the next request, or end the connection if there cannot be one."""
        self._cycle = self._codec = None
        if codec.our_state is not h11.DONE or codec.their_state is not h11.DONE:
            self._connection.close()
            return
        self._waiting_since = self._connection.server_state.loop.time()
        self._is_idle = not self._head
        self._connection.resume_reading()
        if self._head:
            self._read_head()
