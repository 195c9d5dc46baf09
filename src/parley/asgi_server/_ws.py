"""WebSocket, on the sans-I/O protocol of websockets: one connection is one ASGI WebSocket.

h11 has read the request and writes the response to it: 101, or the status with which the
application rejects the upgrade. From then on the bytes are frames. Fragments are joined, and the
library replies to pings. Text that is not UTF-8 ends the connection with its close code; so does a
message that is too long, unless the application requests that such messages be skipped.

Reading pauses while enough messages wait for the application, and `send` waits while the peer does
not read. Compression is not offered. Rules: https://www.rfc-editor.org/rfc/rfc6455
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
import struct
from collections import deque
from collections.abc import Callable
from typing import cast

import h11
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import OPEN, Protocol, Side

from ._asgi_types import (
    App,
    Headers,
    Message,
)
from ._heartbeat import Heartbeat
from ._notifier import Notifier
from ._oversized_messages import MessageEdges, OversizedFrameFilter
from ._request_head import (
    MalformedRequestHead,
    RequestHead,
    checked_headers,
    scope_of,
)
from ._socket_connection import SocketConnection, log_failure
from ._token_bucket import TokenBucket
from .extensions import ON_DISCONNECT, SKIP_OVERSIZED

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT = Opcode.TEXT
_pack_16 = struct.Struct("!BBH").pack
_pack_64 = struct.Struct("!BBQ").pack
_MESSAGE_COST = 512
"""The overhead of a queued message, in bytes, in addition to its data."""
_DISCARDING_LOGGER = logging.Logger("websockets", logging.CRITICAL + 1)  # noqa: LOG001  outside the hierarchy
"""A logger that drops everything: the library would log what peers send."""


class WebSocketProtocol:
    """The WebSocket protocol of one connection, from the upgrade request on; an `HttpProtocol`."""

    __slots__ = (
        "_accept_key",
        "_close_code",
        "_close_reason",
        "_close_sent_at",
        "_codec",
        "_connection",
        "_denial",
        "_early_data",
        "_edge_bytes",
        "_heartbeat",
        "_inbox",
        "_inbox_bytes",
        "_inbox_changed",
        "_is_closed",
        "_is_text",
        "_limits",
        "_on_disconnect",
        "_oversized",
        "_oversized_filter",
        "_partial",
        "_protocol",
        "_scope",
        "_token_bucket",
    )

    def __init__(
        self, connection: SocketConnection, head: RequestHead, codec: h11.Connection
    ) -> None:
        """Prepare the upgrade.

        Raises:
            MalformedRequestHead: The upgrade request is malformed.
        """
        self._connection = connection
        self._limits = connection.limits
        self._codec = codec
        self._accept_key = _accept_key_for(head)
        self._scope = scope_of(head, connection, kind="websocket")
        self._scope["subprotocols"] = _subprotocols(head.headers)
        offered: dict[str, object] = {"websocket.http.response": {}}
        self._scope["extensions"] = offered
        offered |= {ON_DISCONNECT: self._set_on_disconnect, SKIP_OVERSIZED: self._skip_oversized}
        self._on_disconnect: Callable[[], None] | None = None
        self._protocol: Protocol | None = None
        self._early_data = bytearray()
        self._denial = 0
        """The status with which the application rejects the upgrade; 0 if it does not."""
        self._inbox: deque[tuple[Message, int]] = deque()
        self._inbox.append(({"type": "websocket.connect"}, 0))
        self._inbox_bytes = 0
        self._oversized_filter: OversizedFrameFilter | None = None
        self._edge_bytes = 0
        self._partial = bytearray()
        self._oversized: MessageEdges | None = None
        """The ends of a message that is too long, as far as it has arrived."""
        self._is_text = True
        self._inbox_changed = Notifier()
        self._is_closed = False
        self._close_code: int = CloseCode.ABNORMAL_CLOSURE
        self._close_reason = ""
        self._close_sent_at = 0.0
        self._token_bucket = TokenBucket(self._limits, connection.last_active_at)
        self._heartbeat = Heartbeat(self._limits)

    @staticmethod
    def is_upgrade(head: RequestHead) -> bool:
        """Return whether a request has the header `Upgrade: websocket`."""
        return any(
            name == b"upgrade" and value.lower() == b"websocket" for name, value in head.headers
        )

    def begin(self) -> None:
        """Start the application."""
        self._connection.server_state.spawn(self._run(self._connection.server_state.app))

    def data_received(self, data: memoryview) -> None:
        """Handle received bytes: frames, once the upgrade is accepted; earlier ones wait."""
        if self._protocol is None:
            self._early_data += data
            if len(self._early_data) >= self._limits.unsent_bytes:
                self._connection.pause_reading()
            return
        if self._oversized_filter is None:
            self._read(bytes(data), self._protocol)
        else:
            for piece, edges in self._oversized_filter.feed(bytes(data)):
                self._read(piece, self._protocol, edges)
        self._write(self._protocol)
        if self._connection.is_full and self._connection.unsent_bytes > self._limits.control_bytes:
            self._connection.abort()  # it sends pings and does not read our replies

    def _read(self, data: bytes, protocol: Protocol, edges: MessageEdges | None = None) -> None:
        """Handle frames; `edges` are the ends of a frame that was emptied for being too long."""
        protocol.receive_data(data)
        for frame in cast("list[Frame]", protocol.events_received()):
            if self._is_closed:
                break
            if frame.opcode is _TEXT and frame.fin and edges is None:
                self._deliver(frame.data, protocol, is_text=True)
            else:
                self._frame_received(frame, protocol, edges)

    def flush(self) -> None:
        """Do nothing: frames are written as they are sent."""

    def connection_lost(self) -> None:
        """Notify the application that the peer has disconnected."""
        if not self._is_closed:
            self._is_closed = True
            self._inbox_changed.notify_all()
            if self._on_disconnect is not None:
                self._on_disconnect()

    def tick(self, now: float) -> None:
        """Ping a silent peer, and drop one that does not reply or does not close in time."""
        protocol, last_active_at = self._protocol, self._connection.last_active_at
        if self._close_sent_at and now - self._close_sent_at >= self._limits.close_timeout:
            self._connection.close()
        if protocol is None or protocol.state is not OPEN:
            return
        if self._heartbeat.is_missed(now, last_active_at):
            self._connection.abort()
        elif self._heartbeat.is_due(now, last_active_at):
            protocol.send_ping(b"")
            self._write(protocol)

    def drain(self) -> None:
        """Do nothing: the application ends its conversations itself."""

    def terminate(self) -> None:
        """Close with code 1012 (service restart)."""
        self._close(CloseCode.SERVICE_RESTART, "")

    async def _run(self, app: App) -> None:
        code, status = CloseCode.NORMAL_CLOSURE, 403
        try:
            await app(self._scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001  boundary: this task runs the application
            if not (self._is_closed and isinstance(error, OSError)):
                log_failure("The application failed", error)
            code, status = CloseCode.INTERNAL_ERROR, 500
        if self._denial:
            self._connection.close()
        elif self._protocol is None:
            self._send_denial(status, checked_headers(()))
            self._end_denial()
        else:
            self._close(code, "")

    async def _receive(self) -> Message:
        while not self._inbox:
            if self._is_closed:
                reason = self._close_reason
                return {"type": "websocket.disconnect", "code": self._close_code, "reason": reason}
            await self._inbox_changed.wait()
        message, cost = self._inbox.popleft()
        self._inbox_bytes -= cost
        if self._connection.is_reading_paused and self._inbox_bytes < self._limits.unread_bytes:
            self._connection.resume_reading()
        return message

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if self._is_closed:
            raise ConnectionResetError("the peer closed the connection")
        if kind == "websocket.send":
            self._send_message(message)
        elif kind == "websocket.accept":
            self._send_accept(message)
        elif kind == "websocket.close":
            if self._protocol is None:
                self._send_denial(403, checked_headers(()))
                self._end_denial()
            else:
                self._close(message.get("code") or 1000, message.get("reason") or "")
        elif kind == "websocket.http.response.start" and not self._protocol and not self._denial:
            self._send_denial(message["status"], checked_headers(message.get("headers", ())))
        elif kind == "websocket.http.response.body" and self._denial:
            self._connection.write(self._codec.send(h11.Data(data=message.get("body", b""))) or b"")
            if not message.get("more_body", False):
                self._end_denial()
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r} in this state of the WebSocket")
        while self._connection.is_full and not self._is_closed:
            await self._connection.writable.wait()

    def _send_message(self, message: Message) -> None:
        protocol = self._protocol
        if protocol is None:
            raise RuntimeError("the WebSocket has not been accepted")
        data, first = message.get("bytes"), 0x82
        if data is None:
            data, first = message["text"].encode(), 0x81
        size = len(data)  # framed here: the library takes twice as long
        if size < 126:
            self._connection.write(bytes((first, size)) + data)
        else:
            head = _pack_16(first, 126, size) if size < 65536 else _pack_64(first, 127, size)
            self._connection.write(head)
            self._connection.write(data)

    def _send_accept(self, message: Message) -> None:
        if self._protocol is not None or self._denial:
            raise RuntimeError("the upgrade has already been accepted or rejected")
        headers = checked_headers(message.get("headers", ()))
        headers += [(b"upgrade", b"websocket"), (b"connection", b"Upgrade")]
        headers.append((b"sec-websocket-accept", self._accept_key))
        if protocol_name := message.get("subprotocol"):
            headers.append((b"sec-websocket-protocol", protocol_name.encode("ascii")))
        response = h11.InformationalResponse(
            status_code=101, headers=headers, reason=b"Switching Protocols"
        )
        self._connection.write(self._codec.send(response) or b"")
        size = None if self._oversized_filter is not None else self._limits.message_bytes
        self._protocol = Protocol(Side.SERVER, state=OPEN, max_size=size, logger=_DISCARDING_LOGGER)
        self._connection.resume_reading()
        early, self._early_data = self._early_data, bytearray()
        if early:
            self.data_received(memoryview(early))

    def _set_on_disconnect(self, callback: Callable[[], None]) -> None:
        """Set the callback for a disconnect, which is called even if messages are still queued.

        It is called at once if the peer has disconnected.
        """
        self._on_disconnect = callback
        if self._is_closed:
            callback()

    def _skip_oversized(self, edge_bytes: int) -> None:
        """Skip messages that are too long, except for their ends, and keep the connection."""
        self._edge_bytes = edge_bytes
        self._oversized_filter = OversizedFrameFilter(self._limits.message_bytes, edge_bytes)

    def _send_denial(self, status: int, headers: Headers) -> None:
        self._denial = status
        headers = [pair for pair in headers if pair[0] != b"connection"]
        headers.append((b"connection", b"close"))
        self._connection.write(
            self._codec.send(h11.Response(status_code=status, headers=headers)) or b""
        )

    def _end_denial(self) -> None:
        self._connection.write(self._codec.send(h11.EndOfMessage()) or b"")
        self._close_code = CloseCode.NORMAL_CLOSURE
        self._connection.close()

    def _close(self, code: int, reason: str) -> None:
        """Send a close frame, and give the peer a moment to reply."""
        protocol = self._protocol
        if protocol is None or protocol.state is not OPEN:
            if not self._close_sent_at:
                self._connection.close()
            return
        protocol.send_close(code, reason)
        self._write(protocol)
        self._close_code = code
        self._close_sent_at = self._connection.server_state.loop.time()
        self.connection_lost()
        self._connection.resume_reading()

    def _frame_received(self, frame: Frame, protocol: Protocol, edges: MessageEdges | None) -> None:
        if frame.opcode is Opcode.CLOSE:
            close = protocol.close_rcvd
            if close is not None:
                self._close_code, self._close_reason = int(close.code), close.reason
        elif frame.opcode is Opcode.BINARY and frame.fin and edges is None:
            self._deliver(frame.data, protocol, is_text=False)
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._fragment_received(frame, protocol, edges)
        elif not self._token_bucket.spend(self._connection.last_active_at):
            self._fail(protocol, CloseCode.POLICY_VIOLATION)

    def _fragment_received(
        self, frame: Frame, protocol: Protocol, edges: MessageEdges | None
    ) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        is_empty = not frame.data and not frame.fin and edges is None
        if is_empty and not self._token_bucket.spend(self._connection.last_active_at):
            self._fail(protocol, CloseCode.POLICY_VIOLATION)
            return
        self._partial += frame.data
        if edges is not None or len(self._partial) > self._limits.message_bytes:
            self._oversized = self._oversized or MessageEdges(self._edge_bytes)
        if self._oversized is not None:
            self._oversized.add(self._partial)
            self._partial = bytearray()
            if edges is not None:
                self._oversized.join(edges)
        if not frame.fin:
            return
        whole, self._partial = self._partial, bytearray()
        long, self._oversized = self._oversized, None
        if long is None:
            self._deliver(whole, protocol, is_text=self._is_text)
        elif self._is_text:
            limit = self._limits.message_bytes
            ends = {"head": long.head, "tail": long.tail, "limit_bytes": limit}
            size = len(long.head) + len(long.tail)
            self._queue({"type": "websocket.receive", "oversized": ends}, size)

    def _deliver(
        self, data: bytes | bytearray | memoryview, protocol: Protocol, *, is_text: bool
    ) -> None:
        message: Message
        if is_text:
            try:
                message = {"type": "websocket.receive", "text": str(data, "utf-8")}
            except UnicodeDecodeError:
                self._fail(protocol, CloseCode.INVALID_DATA)
                return
        else:
            message = {"type": "websocket.receive", "bytes": bytes(data)}
        self._queue(message, len(data))

    def _queue(self, message: Message, size: int) -> None:
        cost = size + _MESSAGE_COST
        self._inbox.append((message, cost))
        self._inbox_bytes += cost
        self._inbox_changed.notify_all()
        if self._inbox_bytes >= self._limits.unread_bytes:
            self._connection.pause_reading()

    def _fail(self, protocol: Protocol, code: CloseCode) -> None:
        self._close_code = code
        protocol.fail(code)
        self.connection_lost()

    def _write(self, protocol: Protocol) -> None:
        for data in protocol.data_to_send():
            if data:
                self._connection.write(data)
            else:
                if protocol.close_sent is not None and protocol.close_rcvd is None:
                    self._close_code = int(protocol.close_sent.code)
                self._connection.close()


def _accept_key_for(head: RequestHead) -> bytes:
    """Return the `Sec-WebSocket-Accept` value for an upgrade request.

    Raises:
        MalformedRequestHead: The upgrade request is malformed.
    """
    fields: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        fields.setdefault(name, []).append(value)
    options = b",".join(fields.get(b"connection", [])).lower().split(b",")
    if head.method != "GET" or b"upgrade" not in [option.strip() for option in options]:
        raise MalformedRequestHead(400, "a malformed upgrade")
    if fields.get(b"sec-websocket-version") != [b"13"]:
        raise MalformedRequestHead(426, "an unsupported version of WebSocket")
    keys = fields.get(b"sec-websocket-key", [])
    try:
        is_key = len(keys) == 1 and len(base64.b64decode(keys[0], validate=True)) == 16
    except binascii.Error:
        is_key = False
    if not is_key:
        raise MalformedRequestHead(400, "a malformed key")
    digest = hashlib.sha1(keys[0] + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest)


def _subprotocols(headers: Headers) -> list[str]:
    values = b",".join(value for name, value in headers if name == b"sec-websocket-protocol")
    return [name.strip() for name in values.decode("latin-1").split(",") if name.strip()]
