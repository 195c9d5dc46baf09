"""HTTP/2, on h2: many requests at once on one connection.

Each answer waits in its exchange. At the end of a turn the streams that have something to send take
turns, a frame each, until nothing is left, the windows are used up or the peer does not read. So
one stalled stream holds up nobody else, and a busy one does not starve the others. Heads of answers
wait like bodies do: a peer that asks and does not read runs into the bound on streams.

Frames that only cost us work (resets, pings, settings, priorities, empty data) are counted; so are
window updates beyond two for each frame of data that was sent.
"""

from __future__ import annotations

from h2 import events
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError

from parley.transport.http.asgi_types import Headers
from parley.transport.http.codec_h2 import ServerCodec
from parley.transport.http.limits import Budget, Heartbeat, Room

from .exchange import Exchange
from .head import MalformedHead, checked_headers, http_2_head, scope_of
from .wire import Wire

__all__ = ["H2Front"]

_PIECE_BYTES = 8 * 1024
_FRAME_BYTES = 16 * 1024
_SAID_BYTES = 17
"""The longest that h2 answers a frame with by itself: the answer to a ping."""
_MOST_CREDIT = 4096
_SENT: Headers = []
_NOT_IN_HTTP_2 = {b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"}


class H2Front:
    """A connection that speaks HTTP/2."""

    __slots__ = (
        "_budget",
        "_codec",
        "_credit",
        "_exchanges",
        "_head_since",
        "_heartbeat",
        "_is_draining",
        "_leave_at",
        "_limits",
        "_ready",
        "_since",
        "_starved",
        "_unsent",
        "_wire",
    )

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._limits = wire.limits
        self._codec = ServerCodec(wire.limits)
        self._exchanges: dict[int, Exchange] = {}
        self._ready: dict[int, Exchange] = {}
        """Those that have something to send, in the order of their turns."""
        self._starved: dict[int, Exchange] = {}
        """Those that wait for the window of the connection."""
        self._unsent = Room(
            wire.limits.unsent_bytes, wire.limits.connection_unsent_bytes, self._relieved
        )
        self._credit = 0
        self._is_draining = False
        self._leave_at = 0.0
        self._since = wire.heard_at
        """Since when nothing is under way, if nothing is."""
        self._head_since = 0.0
        self._budget = Budget(wire.limits, wire.heard_at)
        self._heartbeat = Heartbeat(wire.limits)
        self._flush()

    def received(self, data: memoryview) -> None:
        """Take frames."""
        for start in range(0, len(data), _PIECE_BYTES):
            try:
                found = self._codec.receive_data(data[start : start + _PIECE_BYTES])
            except ProtocolError:
                self._flush()
                self._wire.finish()
                return
            said = self._flush()
            if (unasked := said // _SAID_BYTES - len(found)) > 0:  # it resets streams by itself
                self._spend(unasked)
            for event in found:
                if self._wire.is_gone:
                    return
                self._handle(event)
        self._flush()
        if self._wire.is_full and self._wire.unsent_bytes > self._limits.control_bytes:
            self._wire.abort()

    def pump(self) -> None:
        """Let the streams take turns."""
        ready, wire = self._ready, self._wire
        while ready and not wire.is_full:
            stream_id = next(iter(ready))
            self._advance(ready.pop(stream_id))
            self._flush()

    def lost(self) -> None:
        """Tell the applications."""
        exchanges, self._exchanges = self._exchanges, {}
        self._ready.clear()
        self._starved.clear()
        for exchange in exchanges.values():
            exchange.lose()

    def tick(self, now: float) -> None:
        """Look for bodies that do not come, a connection that is not used, a peer that is gone."""
        limits, heard_at = self._limits, self._wire.heard_at
        if self._is_late(now) or (not self._exchanges and now - self._since >= limits.idle_timeout):
            self._end(ErrorCodes.NO_ERROR)
            return
        if not self._exchanges:
            return
        if self._heartbeat.is_missed(now, heard_at):
            self._wire.abort()
            return
        if self._heartbeat.is_due(now, heard_at):
            self._codec.ping(b"\0\0\0\0\0\0\0\0")
        for exchange in list(self._exchanges.values()):
            if exchange.awaits_body and now - exchange.fed_at >= limits.body_timeout:
                exchange.refuse(408)
        self._flush()
        if self._is_silent():
            self._wire.rests_until = self._heartbeat.next_at(heard_at)

    def _is_silent(self) -> bool:
        """Tell whether nothing is under way but answers that nobody adds to."""
        return (
            not self._wire.unsent_bytes
            and not self._wire.is_paused
            and not self._codec.head_bytes
            and not self._leave_at
            and all(exchange.is_body_ended for exchange in self._exchanges.values())
        )

    def _is_late(self, now: float) -> bool:
        """Tell whether the rest of a head does not come, or a peer that leaves does not go."""
        if not self._codec.head_bytes:
            self._head_since = 0.0
        elif not self._head_since:
            self._head_since = now
        elif now - self._head_since >= self._limits.head_timeout:
            return True
        return bool(self._leave_at) and now >= self._leave_at

    def drain(self) -> None:
        """Tell the peer to open its next streams elsewhere."""
        self._is_draining = True
        self._wire.write(self._codec.farewell())
        self._end_if_drained()

    def cut(self) -> None:
        """Reset what is left."""
        for exchange in list(self._exchanges.values()):
            self._reset(exchange.stream_id, ErrorCodes.CANCEL)
            exchange.lose()
        self._flush()
        self._wire.finish()

    def ready(self, exchange: Exchange) -> None:
        """Let it take its turn at the end of this turn of the loop."""
        if exchange.stream_id in self._exchanges:
            self._ready[exchange.stream_id] = exchange
            self._wire.touch()

    def wanted(self, exchange: Exchange) -> None:
        """Do nothing: the peer sends as far as its window goes."""

    def taken(self, exchange: Exchange, size: int) -> None:
        """Give the peer as much of its windows back."""
        if not self._wire.is_gone:
            self._codec.acknowledge_received_data(size, exchange.stream_id)
            self._flush()

    def broken(self, exchange: Exchange) -> None:
        """Reset the stream."""
        if exchange.stream_id in self._exchanges:
            self._reset(exchange.stream_id, ErrorCodes.INTERNAL_ERROR)
            self._close(exchange)
            exchange.lose()
            self._flush()

    def _advance(self, exchange: Exchange) -> None:
        """Send the head, or a frame of data."""
        codec, stream_id = self._codec, exchange.stream_id
        if exchange.is_head_due:
            exchange.is_head_due = False
            is_end = exchange.is_ended and not exchange.unsent_bytes
            codec.send_headers(stream_id, _fields(exchange), end_stream=is_end)
            exchange.headers = _SENT
            if is_end:
                self._close(exchange)
                return
        if exchange.unsent_bytes:
            room = codec.local_flow_control_window(stream_id)
            if room <= 0:
                if codec.outbound_flow_control_window <= 0:
                    self._starved[stream_id] = exchange
                return
            data = exchange.take(min(room, codec.max_outbound_frame_size, _FRAME_BYTES))
            is_end = exchange.is_ended and not exchange.unsent_bytes
            codec.send_data(stream_id, data, end_stream=is_end)
            self._credit = min(self._credit + 2, _MOST_CREDIT)
            if is_end:
                self._close(exchange)
            elif exchange.unsent_bytes:
                self._ready[stream_id] = exchange
        elif exchange.is_ended:
            codec.end_stream(stream_id)
            self._close(exchange)

    def _close(self, exchange: Exchange) -> None:
        """Forget a stream whose answer has ended, whether or not the request has."""
        stream_id = exchange.stream_id
        self._drop(stream_id)
        if not exchange.is_body_ended:
            self._reset(stream_id, ErrorCodes.NO_ERROR)
            exchange.lose()
        self._codec.forget(stream_id)
        self._end_if_drained()

    def _drop(self, stream_id: int) -> Exchange | None:
        self._ready.pop(stream_id, None)
        self._starved.pop(stream_id, None)
        self._since = self._wire.heard_at
        exchange = self._exchanges.pop(stream_id, None)
        if exchange is not None:
            self._unsent.remove(exchange.unsent_bytes)
        return exchange

    def _relieved(self) -> None:
        """Let those go on that waited because there was too much on all streams."""
        for exchange in self._exchanges.values():
            exchange.look()

    def _end_if_drained(self) -> None:
        if self._is_draining and not self._exchanges:
            self._flush()
            self._wire.finish()

    def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        stream = self._codec.streams.get(stream_id)
        if stream is not None and not stream.closed:
            self._codec.reset_stream(stream_id, code)

    def _refuse(self, stream_id: int, status: int) -> None:
        """Answer a request that no application shall see."""
        if status and not self._codec.streams[stream_id].closed:  # by a reset in the same piece
            fields = [(b":status", b"%d" % status), *checked_headers(())]
            self._codec.send_headers(stream_id, fields, end_stream=True)
        self._reset(stream_id, ErrorCodes.NO_ERROR if status else ErrorCodes.PROTOCOL_ERROR)
        self._codec.forget(stream_id)
        self._spend()

    def _end(self, code: ErrorCodes) -> None:
        self._codec.close_connection(code)
        self._flush()
        self._wire.finish()

    def _spend(self, count: int = 1) -> None:
        if not self._wire.is_gone and not self._budget.spend(self._wire.heard_at, count):
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)

    def _flush(self) -> int:
        data = self._codec.data_to_send()
        if data:
            self._wire.write(data)
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
                self._on_leaving(event)
            case _:  # pings, priorities, acknowledgements, frames of a kind that nobody knows
                self._spend()

    def _on_request(self, event: events.RequestReceived) -> None:
        stream_id = event.stream_id
        self._since = self._wire.heard_at
        if self._is_draining or len(self._exchanges) >= self._limits.streams:
            self._reset(stream_id, ErrorCodes.REFUSED_STREAM)
            self._codec.forget(stream_id)
            self._spend()
            return
        try:
            head = http_2_head(event.headers)
            _check_length(head.headers, self._limits.body_bytes, is_ended=event.stream_ended)
            scope = scope_of(head, self._wire)
        except MalformedHead as malformed:
            self._refuse(stream_id, malformed.status)
            return
        exchange = Exchange(self, scope, self._unsent, stream_id=stream_id)
        self._exchanges[stream_id] = exchange
        exchange.fed_at = self._wire.heard_at
        if event.stream_ended:
            exchange.feed_end()
        self._wire.service.spawn(exchange.run(self._wire.service.app))

    def _on_data(self, event: events.DataReceived) -> None:
        size = event.flow_controlled_length
        exchange = self._exchanges.get(event.stream_id)
        if not event.data and event.stream_ended is None:
            self._spend()
        if exchange is None or exchange.is_gone:
            if size and not self._wire.is_gone:
                self._codec.acknowledge_received_data(size, event.stream_id)
            return
        exchange.fed_at = self._wire.heard_at
        exchange.feed(event.data, size)
        if exchange.body_bytes > self._limits.body_bytes:
            exchange.refuse(413)

    def _on_end(self, event: events.StreamEnded) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.feed_end()

    def _on_reset(self, event: events.StreamReset) -> None:
        exchange = self._drop(event.stream_id)
        if exchange is not None:
            exchange.lose()
        self._codec.forget(event.stream_id)
        self._spend()
        self._end_if_drained()

    def _on_leaving(self, event: events.ConnectionTerminated) -> None:
        """Let what runs end for a peer that asks for nothing more, unless it is in trouble."""
        if event.error_code:
            self._wire.finish()
            return
        self._spend()
        self._is_draining = True
        self._leave_at = self._leave_at or self._wire.heard_at + self._limits.leave_timeout
        self._end_if_drained()

    def _on_window(self, event: events.WindowUpdated) -> None:
        if self._credit:
            self._credit -= 1
        else:
            self._spend()
        if not event.stream_id:
            self._ready.update(self._starved)
            self._starved.clear()
        else:
            exchange = self._exchanges.get(event.stream_id)
            if exchange is not None and exchange.unsent_bytes:
                self._ready[event.stream_id] = exchange
        self._wire.touch()

    def _on_settings(self) -> None:
        self._spend()
        for stream_id, exchange in self._exchanges.items():  # their windows may have grown
            if exchange.unsent_bytes:
                self._ready[stream_id] = exchange
        self._wire.touch()


def _fields(exchange: Exchange) -> Headers:
    headers = [pair for pair in exchange.headers if pair[0] not in _NOT_IN_HTTP_2]
    return [(b":status", b"%d" % exchange.status), *headers]


def _check_length(headers: Headers, most: int, *, is_ended: object) -> None:
    for name, value in headers:
        if name == b"content-length":
            if len(value) > 20 or (is_ended and int(value)):
                raise MalformedHead(0, "the body is shorter than its length")
            if int(value) > most:
                raise MalformedHead(413, "the body is too long")
