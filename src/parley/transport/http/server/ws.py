"""WebSocket, on websockets' protocol without I/O: one connection is one ASGI WebSocket.

h11 has read the request and writes the answer to it: 101, or whatever the application refuses the
upgrade with. From then on the bytes are frames. Fragments are joined; pings are answered by the
protocol; text that is none ends the connection with its close code, and so does a message that is
too long, unless the application wants it to be passed over.
Reading stops while the application has enough messages to take, and `send` waits while the peer
does not read. Compression is not offered. Rules: https://www.rfc-editor.org/rfc/rfc6455
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

from parley.transport.http.asgi_types import PASS_OVER, WHEN_GONE, App, Headers, Message
from parley.transport.http.limits import Budget, Heartbeat
from parley.transport.http.long_frames import Edges, LongFrames

from .head import Head, MalformedHead, checked_headers, scope_of
from .wire import Signal, Wire, log_failure

__all__ = ["WsFront"]

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT = Opcode.TEXT
_LONG = struct.Struct("!BBH").pack
_LONGER = struct.Struct("!BBQ").pack
_MESSAGE_COST = 512
_SILENT = logging.Logger("websockets", logging.CRITICAL + 1)  # noqa: LOG001  it has no place
"""What the library would log holds what peers send."""


class WsFront:
    """A connection that was asked to become a WebSocket."""

    __slots__ = (
        "_accept",
        "_budget",
        "_changed",
        "_close_code",
        "_close_reason",
        "_closing_at",
        "_codec",
        "_denial",
        "_early",
        "_heartbeat",
        "_inbox",
        "_inbox_bytes",
        "_is_closed",
        "_is_text",
        "_limits",
        "_long",
        "_long_frames",
        "_on_gone",
        "_partial",
        "_protocol",
        "_scope",
        "_wire",
    )

    def __init__(self, wire: Wire, head: Head, codec: h11.Connection) -> None:
        """Prepare the upgrade.

        Raises:
            MalformedHead: The request is none of an upgrade.
        """
        self._wire = wire
        self._limits = wire.limits
        self._codec = codec
        self._accept = _accept_of(head)
        self._scope = scope_of(head, wire, kind="websocket")
        self._scope["subprotocols"] = _subprotocols(head.headers)
        offered: dict[str, object] = {"websocket.http.response": {}}
        self._scope["extensions"] = offered
        offered |= {WHEN_GONE: self._when_gone, PASS_OVER: self._pass_over}
        self._on_gone: Callable[[], None] | None = None
        self._protocol: Protocol | None = None
        self._early = bytearray()
        self._denial = 0
        """The status with which the application refuses the upgrade."""
        self._inbox: deque[tuple[Message, int]] = deque()
        self._inbox.append(({"type": "websocket.connect"}, 0))
        self._inbox_bytes = 0
        self._long_frames: LongFrames | None = None
        self._partial = bytearray()
        self._long: Edges | None = None
        """The ends of a message that is too long, as far as it has come."""
        self._is_text = True
        self._changed = Signal()
        self._is_closed = False
        self._close_code: int = CloseCode.ABNORMAL_CLOSURE
        self._close_reason = ""
        self._closing_at = 0.0
        self._budget = Budget(self._limits, wire.heard_at)
        self._heartbeat = Heartbeat(self._limits)

    @staticmethod
    def is_asked_for(head: Head) -> bool:
        """Tell whether a request asks for a WebSocket."""
        return any(
            name == b"upgrade" and value.lower() == b"websocket" for name, value in head.headers
        )

    def begin(self) -> None:
        """Start the application."""
        self._wire.service.spawn(self._run(self._wire.service.app))

    def received(self, data: memoryview) -> None:
        """Take bytes: frames, once the upgrade is accepted."""
        if self._protocol is None:
            self._early += data
            if len(self._early) >= self._limits.unsent_bytes:
                self._wire.pause()
            return
        if self._long_frames is None:
            self._read(bytes(data), self._protocol)
        else:
            for piece, edges in self._long_frames.feed(bytes(data)):
                self._read(piece, self._protocol, edges)
        self._write(self._protocol)
        if self._wire.is_full and self._wire.unsent_bytes > self._limits.control_bytes:
            self._wire.abort()  # it makes us answer pings, and does not read them

    def _read(self, data: bytes, protocol: Protocol, edges: Edges | None = None) -> None:
        """Take frames; `edges` are the ends of what is empty now, because it was too long."""
        protocol.receive_data(data)
        for frame in cast("list[Frame]", protocol.events_received()):
            if self._is_closed:
                break
            if frame.opcode is _TEXT and frame.fin and edges is None:
                self._deliver(frame.data, protocol, is_text=True)
            else:
                self._frame_received(frame, protocol, edges)

    def pump(self) -> None:
        """Do nothing: frames are written as they are sent."""

    def lost(self) -> None:
        """Tell the application."""
        if not self._is_closed:
            self._is_closed = True
            self._changed.wake()
            if self._on_gone is not None:
                self._on_gone()

    def tick(self, now: float) -> None:
        """Ask a silent peer for a sign of life, and leave one that gives none."""
        protocol, heard_at = self._protocol, self._wire.heard_at
        if self._closing_at and now - self._closing_at >= self._limits.close_timeout:
            self._wire.finish()
        if protocol is None or protocol.state is not OPEN:
            return
        if self._heartbeat.is_missed(now, heard_at):
            self._wire.abort()
        elif self._heartbeat.is_due(now, heard_at):
            protocol.send_ping(b"")
            self._write(protocol)

    def drain(self) -> None:
        """Let the application go on: it ends its conversations itself."""

    def cut(self) -> None:
        """Tell the peer that we restart."""
        self._close(CloseCode.SERVICE_RESTART, "")

    async def _run(self, app: App) -> None:
        code, status = CloseCode.NORMAL_CLOSURE, 403
        try:
            await app(self._scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001  the edge: this task is the application's
            if not (self._is_closed and isinstance(error, OSError)):
                log_failure("The application failed", error)
            code, status = CloseCode.INTERNAL_ERROR, 500
        if self._denial:
            self._wire.finish()
        elif self._protocol is None:
            self._deny(status, checked_headers(()))
            self._end_denial()
        else:
            self._close(code, "")

    async def _receive(self) -> Message:
        while not self._inbox:
            if self._is_closed:
                reason = self._close_reason
                return {"type": "websocket.disconnect", "code": self._close_code, "reason": reason}
            await self._changed.wait()
        message, cost = self._inbox.popleft()
        self._inbox_bytes -= cost
        if self._wire.is_paused and self._inbox_bytes < self._limits.unread_bytes:
            self._wire.resume()
        return message

    async def _send(self, message: Message) -> None:
        kind = message["type"]
        if self._is_closed:
            raise ConnectionResetError("the peer has closed this connection")
        if kind == "websocket.send":
            self._send_message(message)
        elif kind == "websocket.accept":
            self._send_accept(message)
        elif kind == "websocket.close":
            if self._protocol is None:
                self._deny(403, checked_headers(()))
                self._end_denial()
            else:
                self._close(message.get("code") or 1000, message.get("reason") or "")
        elif kind == "websocket.http.response.start" and not self._protocol and not self._denial:
            self._deny(message["status"], checked_headers(message.get("headers", ())))
        elif kind == "websocket.http.response.body" and self._denial:
            self._wire.write(self._codec.send(h11.Data(data=message.get("body", b""))) or b"")
            if not message.get("more_body", False):
                self._end_denial()
        else:
            raise RuntimeError(f"{kind!r} does not fit here")
        while self._wire.is_full and not self._is_closed:
            await self._wire.room.wait()

    def _send_message(self, message: Message) -> None:
        protocol = self._protocol
        if protocol is None:
            raise RuntimeError("the connection is not accepted")
        data, first = message.get("bytes"), 0x82
        if data is None:
            data, first = message["text"].encode(), 0x81
        size = len(data)  # the library's way to write a frame takes twice as long
        if size < 126:
            self._wire.write(bytes((first, size)) + data)
        else:
            head = _LONG(first, 126, size) if size < 65536 else _LONGER(first, 127, size)
            self._wire.write(head)
            self._wire.write(data)

    def _send_accept(self, message: Message) -> None:
        if self._protocol is not None or self._denial:
            raise RuntimeError("the upgrade has been answered")
        headers = checked_headers(message.get("headers", ()))
        headers += [(b"upgrade", b"websocket"), (b"connection", b"Upgrade")]
        headers.append((b"sec-websocket-accept", self._accept))
        if protocol_name := message.get("subprotocol"):
            headers.append((b"sec-websocket-protocol", protocol_name.encode("ascii")))
        answer = h11.InformationalResponse(
            status_code=101, headers=headers, reason=b"Switching Protocols"
        )
        self._wire.write(self._codec.send(answer) or b"")
        size = None if self._long_frames is not None else self._limits.message_bytes
        self._protocol = Protocol(Side.SERVER, state=OPEN, max_size=size, logger=_SILENT)
        self._wire.resume()
        early, self._early = self._early, bytearray()
        if early:
            self.received(memoryview(early))

    def _when_gone(self, callback: Callable[[], None]) -> None:
        """Call back when the peer is gone, though what it has sent may wait; now if it is."""
        self._on_gone = callback
        if self._is_closed:
            callback()

    def _pass_over(self) -> None:
        """Do not let messages that are too long end the connection."""
        self._long_frames = LongFrames(self._limits.message_bytes)

    def _deny(self, status: int, headers: Headers) -> None:
        self._denial = status
        headers = [pair for pair in headers if pair[0] != b"connection"]
        headers.append((b"connection", b"close"))
        self._wire.write(self._codec.send(h11.Response(status_code=status, headers=headers)) or b"")

    def _end_denial(self) -> None:
        self._wire.write(self._codec.send(h11.EndOfMessage()) or b"")
        self._close_code = CloseCode.NORMAL_CLOSURE
        self._wire.finish()

    def _close(self, code: int, reason: str) -> None:
        """Say that it is over, and give the peer a moment to agree."""
        protocol = self._protocol
        if protocol is None or protocol.state is not OPEN:
            if not self._closing_at:
                self._wire.finish()
            return
        protocol.send_close(code, reason)
        self._write(protocol)
        self._close_code = code
        self._closing_at = self._wire.service.loop.time()
        self.lost()
        self._wire.resume()

    def _frame_received(self, frame: Frame, protocol: Protocol, edges: Edges | None) -> None:
        if frame.opcode is Opcode.CLOSE:
            close = protocol.close_rcvd
            if close is not None:
                self._close_code, self._close_reason = int(close.code), close.reason
        elif frame.opcode is Opcode.BINARY and frame.fin and edges is None:
            self._deliver(frame.data, protocol, is_text=False)
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._fragment_received(frame, protocol, edges)
        elif not self._budget.spend(self._wire.heard_at):
            self._fail(protocol, CloseCode.POLICY_VIOLATION)

    def _fragment_received(self, frame: Frame, protocol: Protocol, edges: Edges | None) -> None:
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        is_empty = not frame.data and not frame.fin and edges is None
        if is_empty and not self._budget.spend(self._wire.heard_at):
            self._fail(protocol, CloseCode.POLICY_VIOLATION)
            return
        self._partial += frame.data
        if edges is not None or len(self._partial) > self._limits.message_bytes:
            self._long = self._long or Edges()
        if self._long is not None:
            self._long.add(self._partial)
            self._partial = bytearray()
            if edges is not None:
                self._long.join(edges)
        if not frame.fin:
            return
        whole, self._partial = self._partial, bytearray()
        long, self._long = self._long, None
        if long is None:
            self._deliver(whole, protocol, is_text=self._is_text)
        elif self._is_text:
            oversized = long.frame(self._limits.message_bytes)
            self._queue({"type": "websocket.receive", "oversized": oversized}, len(oversized))

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
        self._changed.wake()
        if self._inbox_bytes >= self._limits.unread_bytes:
            self._wire.pause()

    def _fail(self, protocol: Protocol, code: CloseCode) -> None:
        self._close_code = code
        protocol.fail(code)
        self.lost()

    def _write(self, protocol: Protocol) -> None:
        for data in protocol.data_to_send():
            if data:
                self._wire.write(data)
            else:
                if protocol.close_sent is not None and protocol.close_rcvd is None:
                    self._close_code = int(protocol.close_sent.code)
                self._wire.finish()


def _accept_of(head: Head) -> bytes:
    """Return what a handshake is answered with.

    Raises:
        MalformedHead: The request asks for an upgrade in a wrong way.
    """
    fields: dict[bytes, list[bytes]] = {}
    for name, value in head.headers:
        fields.setdefault(name, []).append(value)
    options = b",".join(fields.get(b"connection", [])).lower().split(b",")
    if head.method != "GET" or b"upgrade" not in [option.strip() for option in options]:
        raise MalformedHead(400, "a malformed upgrade")
    if fields.get(b"sec-websocket-version") != [b"13"]:
        raise MalformedHead(426, "another version of WebSocket")
    keys = fields.get(b"sec-websocket-key", [])
    try:
        is_key = len(keys) == 1 and len(base64.b64decode(keys[0], validate=True)) == 16
    except binascii.Error:
        is_key = False
    if not is_key:
        raise MalformedHead(400, "a malformed key")
    digest = hashlib.sha1(keys[0] + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest)


def _subprotocols(headers: Headers) -> list[str]:
    values = b",".join(value for name, value in headers if name == b"sec-websocket-protocol")
    return [name.strip() for name in values.decode("latin-1").split(",") if name.strip()]
