"""HTTP/1.1, on h11: requests one after the other, answers in chunks or of a known length.

The head of a request is collected here and looked at before h11 sees it, because h11 is generous
where generosity lets two readers of the same bytes see two different requests: line ends without
CR, folded lines, a length given twice or beside chunks. All of that gets 400, and the connection
ends, as nobody can tell where the next request would begin.
"""

from __future__ import annotations

import re
from http import HTTPStatus

import h11

from parley.transport.http.asgi_types import Headers
from parley.transport.http.limits import Room

from .exchange import Exchange
from .head import Head, MalformedHead, scope_of
from .wire import Wire
from .ws import WsFront

__all__ = ["H1Front", "refusal"]

_PIECE_BYTES = 64 * 1024
_STRAY = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|(?<!\r)\n|\r(?!\n)|\r\n[ \t]").search
_LENGTHS = re.compile(rb"\r\ncontent-length[ \t]*:[ \t]*([^\r]*)", re.IGNORECASE).findall
_REASONS = {status.value: status.phrase.encode("ascii") for status in HTTPStatus}


def refusal(status: int, why: str = "") -> bytes:
    """Write a whole answer after which the connection ends."""
    reason = _REASONS[status]
    body = why.encode() or reason
    head = b"HTTP/1.1 %d %b\r\ncontent-length: %d\r\nconnection: close\r\n" % (
        status,
        reason,
        len(body),
    )
    return head + b"content-type: text/plain; charset=utf-8\r\n\r\n" + body


class H1Front:
    """A connection that speaks HTTP/1.1."""

    __slots__ = (
        "_codec",
        "_exchange",
        "_head",
        "_is_idle",
        "_limits",
        "_looked_bytes",
        "_since",
        "_unsent",
        "_wire",
    )

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._limits = wire.limits
        self._unsent = Room(wire.limits.unsent_bytes, wire.limits.connection_unsent_bytes)
        self._head = bytearray()
        """What was read of the next request."""
        self._looked_bytes = 0
        self._codec: h11.Connection | None = None
        self._exchange: Exchange | None = None
        self._is_idle = False
        self._since = wire.heard_at

    def received(self, data: memoryview) -> None:
        """Take a piece of a head, or of a body."""
        exchange, codec = self._exchange, self._codec
        if exchange is not None and codec is not None and not exchange.is_body_ended:
            if not exchange.is_gone:  # else it was refused, and the rest is of no use
                codec.receive_data(bytes(data))
                self._read_body(exchange, codec)
            return
        if not self._head:
            self._since = self._wire.heard_at
            self._is_idle = False
        self._head += data
        if exchange is None:
            self._read_head()
        elif len(self._head) >= _PIECE_BYTES:  # the next requests can wait
            self._wire.pause()

    def pump(self) -> None:
        """Send what the application has sent."""
        exchange, codec = self._exchange, self._codec
        if exchange is None or codec is None:
            return
        try:
            self._answer(exchange, codec)
        except h11.LocalProtocolError:  # the application breaks its own promise of a length
            self.broken(exchange)

    def lost(self) -> None:
        """Tell the application."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lose()

    def tick(self, now: float) -> None:
        """Give up on heads and bodies that do not come, and on a connection that is not used."""
        exchange = self._exchange
        if exchange is not None:
            silent = now - self._wire.heard_at
            if exchange.awaits_body and silent >= self._limits.body_timeout:
                exchange.refuse(408)
        elif self._is_idle:
            if now - self._since >= self._limits.idle_timeout:
                self._wire.finish()
        elif now - self._since >= self._limits.head_timeout:
            if self._head:
                self._wire.write(refusal(408))
            self._wire.finish()

    def drain(self) -> None:
        """Close when the request that is under way has its answer; now if there is none."""
        if self._exchange is None:
            self._wire.finish()

    def cut(self) -> None:
        """Close in the middle of the answer, so that nobody takes it for a whole one."""
        self._wire.finish()

    def ready(self, exchange: Exchange) -> None:
        """Send at the end of this turn."""
        self._wire.touch()

    def wanted(self, exchange: Exchange) -> None:
        """Let the peer send the body, if it waits to be asked."""
        codec = self._codec
        if codec is not None and codec.they_are_waiting_for_100_continue and not exchange.status:
            event = h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue")
            self._wire.write(codec.send(event) or b"")

    def taken(self, exchange: Exchange, size: int) -> None:
        """Read on."""
        if exchange is self._exchange and len(self._head) < _PIECE_BYTES:
            self._wire.resume()

    def broken(self, exchange: Exchange) -> None:
        """End the connection, which is the only way to say that an answer is not whole."""
        self._wire.finish()

    def _read_head(self) -> None:
        head = self._head
        while head.startswith(b"\r\n"):  # allowed before a request
            del head[:2]
        end = head.find(b"\r\n\r\n", max(0, self._looked_bytes - 3))
        piece = head if end < 0 else head[: end + 2]
        stray = _STRAY(piece, max(0, self._looked_bytes - 2))
        if stray and (end >= 0 or stray.group() != b"\r" or stray.end() < len(piece)):
            self._refuse(400)
            return
        self._looked_bytes = len(head)
        if self._is_too_long(piece) or end < 0:
            return
        self._looked_bytes = 0
        whole = bytes(head[: end + 4])
        del head[: end + 4]
        try:
            self._begin(whole)
        except MalformedHead as malformed:
            self._refuse(malformed.status)
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)

    def _is_too_long(self, head: bytearray) -> bool:
        line = head.find(b"\r\n")
        line = len(head) if line < 0 else line
        if line > self._limits.target_bytes + 64:
            self._refuse(414)
        elif len(head) > self._limits.header_bytes:
            self._refuse(431)
        else:
            return False
        return True

    def _refuse(self, status: int) -> None:
        self._wire.write(refusal(status))
        self._wire.finish()

    def _begin(self, whole: bytes) -> None:
        """Start the application on a request whose head is whole."""
        codec = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.header_bytes)
        codec.receive_data(whole)
        event = codec.next_event()
        if not isinstance(event, h11.Request):
            raise MalformedHead(400, "no request")
        headers: Headers = list(event.headers)
        names = [name for name, _ in headers]
        lengths = _LENGTHS(whole)
        if len(lengths) > 1 or (lengths and b"transfer-encoding" in names):
            raise MalformedHead(400, "two lengths")
        if lengths and not lengths[0].strip().isdigit():
            raise MalformedHead(400, "an odd length")
        spoken = event.http_version.decode("ascii")
        if not spoken.startswith("1."):
            raise MalformedHead(505, "another version of HTTP")
        head = Head(spoken, event.method.decode("ascii"), event.target, None, headers)
        if lengths and int(lengths[0]) > self._limits.body_bytes:
            raise MalformedHead(413, "the body is too long")
        if b"upgrade" in names and WsFront.is_asked_for(head):
            if spoken != "1.1" or b"transfer-encoding" in names or (lengths and int(lengths[0])):
                raise MalformedHead(400, "an upgrade with a body: it would be read as frames")
            self._upgrade(head, codec)
            return
        scope = scope_of(head, self._wire)
        self._codec = codec
        self._exchange = Exchange(self, scope, self._unsent)
        if self._head:
            codec.receive_data(bytes(self._head))
            self._head.clear()
        self._read_body(self._exchange, codec)
        if not self._wire.is_gone:
            self._wire.service.spawn(self._exchange.run(self._wire.service.app))

    def _upgrade(self, head: Head, codec: h11.Connection) -> None:
        front = WsFront(self._wire, head, codec)
        self._wire.front = front
        front.begin()
        if self._head:
            front.received(memoryview(self._head))

    def _read_body(self, exchange: Exchange, codec: h11.Connection) -> None:
        while True:
            try:
                event = codec.next_event()
            except h11.RemoteProtocolError:
                exchange.lose()
                if not exchange.status:
                    self._wire.write(refusal(400))
                self._wire.finish()
                return
            if isinstance(event, h11.Data):
                data = bytes(event.data)
                exchange.feed(data, len(data))
                if exchange.body_bytes > self._limits.body_bytes:
                    exchange.refuse(413)
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._head += codec.trailing_data[0]
                exchange.feed_end()
                return
            else:
                break
        if exchange.held_bytes >= self._limits.unread_bytes:
            self._wire.pause()

    def _answer(self, exchange: Exchange, codec: h11.Connection) -> None:
        wire = self._wire
        if exchange.is_head_due:
            wire.write(codec.send(self._head_of(exchange)) or b"")
            exchange.is_head_due = False
        while exchange.unsent_bytes and not wire.is_full:
            data = exchange.take(_PIECE_BYTES)
            wire.write(codec.send(h11.Data(data=bytes(data))) or b"")
        if exchange.is_ended and not exchange.unsent_bytes:
            wire.write(codec.send(h11.EndOfMessage()) or b"")
            self._next(codec)

    def _head_of(self, exchange: Exchange) -> h11.Response:
        headers = exchange.headers
        if not exchange.is_body_ended or self._wire.service.is_draining:
            headers = [pair for pair in headers if pair[0] != b"connection"]
            headers.append((b"connection", b"close"))
        reason = _REASONS.get(exchange.status, b"")
        return h11.Response(status_code=exchange.status, headers=headers, reason=reason)

    def _next(self, codec: h11.Connection) -> None:
        """Go on to the next request, if there can be one."""
        self._exchange = self._codec = None
        if codec.our_state is not h11.DONE or codec.their_state is not h11.DONE:
            self._wire.finish()
            return
        self._since = self._wire.service.loop.time()
        self._is_idle = not self._head
        self._wire.resume()
        if self._head:
            self._read_head()
