"""HTTP/2, on h2: many concurrent requests on one connection.

Each response waits in its `RequestResponseCycle`. At the end of an event loop iteration, the
streams with something to send take turns, one frame each, until nothing is left, the flow-control
windows are used up or the peer does not read. So a stalled stream does not block the others, and a
busy one does not starve them. Heads of responses are queued like bodies: a peer that sends requests
and does not read runs into the limit on streams.

Frames that only cost us work (resets, pings, settings, priorities, empty data) are rate-limited; so
are window updates beyond two for each data frame sent.
"""

from __future__ import annotations

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from ._asgi_types import Headers
from ._h2_codec import ServerCodec
from ._heartbeat import Heartbeat
from ._request_cycle import RequestResponseCycle
from ._request_head import (
    MalformedRequestHead,
    checked_headers,
    http_2_head,
    scope_of,
)
from ._send_window import SendWindow
from ._socket_connection import SocketConnection
from ._token_bucket import TokenBucket

_PARSE_BYTES = 8 * 1024
_FRAME_BYTES = 16 * 1024
_REPLY_BYTES = 17
"""The size of the longest frame that h2 sends on its own in reply: the reply to a ping."""
_MAX_UPDATE_CREDIT = 4096
"""Cap on the window updates that the peer may send without spending tokens."""
_HEADERS_SENT: Headers = []
_HTTP_1_HEADERS = {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"}


class H2Protocol:
    """The HTTP/2 protocol of one connection; an `HttpProtocol` and a `ResponseWriter`."""

    __slots__ = (
        "_codec",
        "_connection",
        "_cycles",
        "_goaway_deadline",
        "_head_started_at",
        "_heartbeat",
        "_idle_since",
        "_is_draining",
        "_limits",
        "_ready",
        "_send_window",
        "_token_bucket",
        "_update_credit",
        "_window_blocked",
    )

    def __init__(self, connection: SocketConnection) -> None:
        self._connection = connection
        self._limits = connection.limits
        self._codec = ServerCodec(connection.limits)
        self._cycles: dict[int, RequestResponseCycle] = {}
        self._ready: dict[int, RequestResponseCycle] = {}
        """The cycles that have something to send, in the order in which they take turns."""
        self._window_blocked: dict[int, RequestResponseCycle] = {}
        """The cycles that are blocked by the flow-control window of the connection."""
        self._send_window = SendWindow(
            connection.limits.unsent_bytes,
            connection.limits.connection_unsent_bytes,
            self._window_reopened,
        )
        self._update_credit = 0
        self._is_draining = False
        self._goaway_deadline = 0.0
        self._idle_since = connection.last_active_at
        """The time since when the connection has been idle, if it is."""
        self._head_started_at = 0.0
        self._token_bucket = TokenBucket(connection.limits, connection.last_active_at)
        self._heartbeat = Heartbeat(connection.limits)
        self._flush()

    def data_received(self, data: memoryview) -> None:
        """Handle received frames."""
        for start in range(0, len(data), _PARSE_BYTES):
            try:
                found = self._codec.receive_data(data[start : start + _PARSE_BYTES])
            except ProtocolError:
                self._flush()
                self._connection.close()
                return
            sent = self._flush()
            if (resets := sent // _REPLY_BYTES - len(found)) > 0:  # h2 reset streams on its own
                self._spend(resets)
            for event in found:
                if self._connection.is_closing:
                    return
                self._handle(event)
        self._flush()
        if self._connection.is_full and self._connection.unsent_bytes > self._limits.control_bytes:
            self._connection.abort()

    def flush(self) -> None:
        """Write one frame of each ready stream in turn, while the peer reads."""
        ready, connection = self._ready, self._connection
        while ready and not connection.is_full:
            stream_id = next(iter(ready))
            self._send_frame(ready.pop(stream_id))
            self._flush()

    def connection_lost(self) -> None:
        """Notify the application of each open request that the peer has disconnected."""
        cycles, self._cycles = self._cycles, {}
        self._ready.clear()
        self._window_blocked.clear()
        for cycle in cycles.values():
            cycle.disconnect()

    def tick(self, now: float) -> None:
        """Enforce the timeouts for heads, bodies, idle connections and silent peers."""
        limits, last_active_at = self._limits, self._connection.last_active_at
        if self._is_overdue(now) or (
            not self._cycles and now - self._idle_since >= limits.idle_timeout
        ):
            self._close_connection(ErrorCodes.NO_ERROR)
            return
        if not self._cycles:
            return
        if self._heartbeat.is_missed(now, last_active_at):
            self._connection.abort()
            return
        if self._heartbeat.is_due(now, last_active_at):
            self._codec.ping(b"\0\0\0\0\0\0\0\0")
        for cycle in list(self._cycles.values()):
            if cycle.is_awaiting_body and now - cycle.body_received_at >= limits.body_timeout:
                cycle.reject(408)
        self._flush()
        if self._is_quiet():
            self._connection.idle_until = self._heartbeat.next_at(last_active_at)

    def _is_quiet(self) -> bool:
        """Return whether nothing is in progress except responses that are idle."""
        return (
            not self._connection.unsent_bytes
            and not self._connection.is_reading_paused
            and not self._codec.head_bytes
            and not self._goaway_deadline
            and all(cycle.is_body_ended for cycle in self._cycles.values())
        )

    def _is_overdue(self, now: float) -> bool:
        """Return whether a request head, or a peer that sent GOAWAY, takes too long."""
        if not self._codec.head_bytes:
            self._head_started_at = 0.0
        elif not self._head_started_at:
            self._head_started_at = now
        elif now - self._head_started_at >= self._limits.head_timeout:
            return True
        return bool(self._goaway_deadline) and now >= self._goaway_deadline

    def drain(self) -> None:
        """Send GOAWAY, and end the connection when its requests are done."""
        self._is_draining = True
        self._connection.write(self._codec.encode_goaway())
        self._close_if_drained()

    def terminate(self) -> None:
        """Reset the remaining streams and end the connection."""
        for cycle in list(self._cycles.values()):
            self._reset(cycle.stream_id, ErrorCodes.CANCEL)
            cycle.disconnect()
        self._flush()
        self._connection.close()

    def response_ready(self, cycle: RequestResponseCycle) -> None:
        """Mark a cycle as ready to send, and schedule a flush."""
        if cycle.stream_id in self._cycles:
            self._ready[cycle.stream_id] = cycle
            self._connection.schedule_flush()

    def body_wanted(self, cycle: RequestResponseCycle) -> None:
        """Do nothing: the peer may send as much as its window allows."""

    def body_consumed(self, cycle: RequestResponseCycle, size: int) -> None:
        """Return this many bytes to the flow-control windows of the peer."""
        if not self._connection.is_closing:
            self._codec.acknowledge_received_data(size, cycle.stream_id)
            self._flush()

    def response_broken(self, cycle: RequestResponseCycle) -> None:
        """Reset the stream."""
        if cycle.stream_id in self._cycles:
            self._reset(cycle.stream_id, ErrorCodes.INTERNAL_ERROR)
            self._close(cycle)
            cycle.disconnect()
            self._flush()

    def _send_frame(self, cycle: RequestResponseCycle) -> None:
        """Send the head if it is due, and at most one data frame."""
        codec, stream_id = self._codec, cycle.stream_id
        if cycle.is_head_pending:
            cycle.is_head_pending = False
            is_end = cycle.is_ended and not cycle.unsent_bytes
            codec.send_headers(stream_id, _response_headers(cycle), end_stream=is_end)
            cycle.headers = _HEADERS_SENT
            if is_end:
                self._close(cycle)
                return
        if cycle.unsent_bytes:
            window = codec.local_flow_control_window(stream_id)
            if window <= 0:
                if codec.outbound_flow_control_window <= 0:
                    self._window_blocked[stream_id] = cycle
                return
            data = cycle.take_unsent(min(window, codec.max_outbound_frame_size, _FRAME_BYTES))
            is_end = cycle.is_ended and not cycle.unsent_bytes
            codec.send_data(stream_id, data, end_stream=is_end)
            self._update_credit = min(self._update_credit + 2, _MAX_UPDATE_CREDIT)
            if is_end:
                self._close(cycle)
            elif cycle.unsent_bytes:
                self._ready[stream_id] = cycle
        elif cycle.is_ended:
            codec.end_stream(stream_id)
            self._close(cycle)

    def _close(self, cycle: RequestResponseCycle) -> None:
        """Forget a stream whose response has ended, even if its request has not."""
        stream_id = cycle.stream_id
        self._remove(stream_id)
        if not cycle.is_body_ended:
            self._reset(stream_id, ErrorCodes.NO_ERROR)
            cycle.disconnect()
        self._codec.forget(stream_id)
        self._close_if_drained()

    def _remove(self, stream_id: int) -> RequestResponseCycle | None:
        self._ready.pop(stream_id, None)
        self._window_blocked.pop(stream_id, None)
        self._idle_since = self._connection.last_active_at
        cycle = self._cycles.pop(stream_id, None)
        if cycle is not None:
            self._send_window.remove(cycle.unsent_bytes)
        return cycle

    def _window_reopened(self) -> None:
        """Wake the applications that waited because all streams together held too much."""
        for cycle in self._cycles.values():
            cycle.wake_if_writable()

    def _close_if_drained(self) -> None:
        if self._is_draining and not self._cycles:
            self._flush()
            self._connection.close()

    def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        stream = self._codec.streams.get(stream_id)
        if stream is not None and not stream.closed:
            self._codec.reset_stream(stream_id, code)

    def _reject(self, stream_id: int, status: int) -> None:
        """Reject a request without calling the application; status 0 only resets the stream."""
        if status and not self._codec.streams[stream_id].closed:  # may be reset in the same piece
            fields = [(b":status", b"%d" % status), *checked_headers(())]
            self._codec.send_headers(stream_id, fields, end_stream=True)
        self._reset(stream_id, ErrorCodes.NO_ERROR if status else ErrorCodes.PROTOCOL_ERROR)
        self._codec.forget(stream_id)
        self._spend()

    def _close_connection(self, code: ErrorCodes) -> None:
        self._codec.close_connection(code)
        self._flush()
        self._connection.close()

    def _spend(self, count: int = 1) -> None:
        if not self._connection.is_closing and not self._token_bucket.spend(
            self._connection.last_active_at, count
        ):
            self._close_connection(ErrorCodes.ENHANCE_YOUR_CALM)

    def _flush(self) -> int:
        data = self._codec.data_to_send()
        if data:
            self._connection.write(data)
        return len(data)

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.DataReceived():
                self._on_data(event)
            case events.StreamEnded():
                self._on_end(event)
            case events.RequestReceived():
                self._on_request(event)
            case events.WindowUpdated():
                self._on_window(event)
            case events.StreamReset():
                self._on_reset(event)
            case events.RemoteSettingsChanged():
                self._on_settings()
            case events.ConnectionTerminated():
                self._on_goaway(event)
            case _:  # pings, priorities, acknowledgements, frames of unknown types
                self._spend()

    def _on_request(self, event: events.RequestReceived) -> None:
        stream_id = event.stream_id
        self._idle_since = self._connection.last_active_at
        if self._is_draining or len(self._cycles) >= self._limits.streams:
            self._reset(stream_id, ErrorCodes.REFUSED_STREAM)
            self._codec.forget(stream_id)
            self._spend()
            return
        try:
            head = http_2_head(event.headers)
            _check_length(head.headers, self._limits.body_bytes, is_ended=event.stream_ended)
            scope = scope_of(head, self._connection)
        except MalformedRequestHead as malformed:
            self._reject(stream_id, malformed.status)
            return
        cycle = RequestResponseCycle(self, scope, self._send_window, stream_id=stream_id)
        self._cycles[stream_id] = cycle
        cycle.body_received_at = self._connection.last_active_at
        if event.stream_ended:
            cycle.feed_end()
        self._connection.server_state.spawn(cycle.run(self._connection.server_state.app))

    def _on_data(self, event: events.DataReceived) -> None:
        size = event.flow_controlled_length
        cycle = self._cycles.get(event.stream_id)
        if not event.data and event.stream_ended is None:
            self._spend()
        if cycle is None or cycle.is_disconnected:
            if size and not self._connection.is_closing:
                self._codec.acknowledge_received_data(size, event.stream_id)
            return
        cycle.body_received_at = self._connection.last_active_at
        cycle.feed(event.data, size)
        if cycle.body_bytes > self._limits.body_bytes:
            cycle.reject(413)

    def _on_end(self, event: events.StreamEnded) -> None:
        cycle = self._cycles.get(event.stream_id)
        if cycle is not None:
            cycle.feed_end()

    def _on_reset(self, event: events.StreamReset) -> None:
        cycle = self._remove(event.stream_id)
        if cycle is not None:
            cycle.disconnect()
        self._codec.forget(event.stream_id)
        self._spend()
        self._close_if_drained()

    def _on_goaway(self, event: events.ConnectionTerminated) -> None:
        """Handle GOAWAY: finish the open requests, or close at once if it reports an error."""
        if event.error_code:
            self._connection.close()
            return
        self._spend()
        self._is_draining = True
        self._goaway_deadline = (
            self._goaway_deadline or self._connection.last_active_at + self._limits.leave_timeout
        )
        self._close_if_drained()

    def _on_window(self, event: events.WindowUpdated) -> None:
        if self._update_credit:
            self._update_credit -= 1
        else:
            self._spend()
        if not event.stream_id:
            self._ready.update(self._window_blocked)
            self._window_blocked.clear()
        else:
            cycle = self._cycles.get(event.stream_id)
            if cycle is not None and cycle.unsent_bytes:
                self._ready[event.stream_id] = cycle
        self._connection.schedule_flush()

    def _on_settings(self) -> None:
        self._spend()
        for stream_id, cycle in self._cycles.items():  # their windows may have grown
            if cycle.unsent_bytes:
                self._ready[stream_id] = cycle
        self._connection.schedule_flush()


def _response_headers(cycle: RequestResponseCycle) -> Headers:
    headers = [pair for pair in cycle.headers if pair[0] not in _HTTP_1_HEADERS]
    return [(b":status", b"%d" % cycle.status), *headers]


def _check_length(headers: Headers, max_bytes: int, *, is_ended: object) -> None:
    for name, value in headers:
        if name == b"content-length":
            if len(value) > 20 or (is_ended and int(value)):
                raise MalformedRequestHead(0, "a body that is shorter than its Content-Length")
            if int(value) > max_bytes:
                raise MalformedRequestHead(413, "the body is too long")
