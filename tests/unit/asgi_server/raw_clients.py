"""Clients of the server that send bytes or frames over real sockets.

`RawClient` sends bytes, `RawH2Client` HTTP/2 frames. Neither does anything that a test does not ask
for; in particular, neither reopens a flow-control window.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from typing import Self, TypeVar

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
Fields = list[tuple[bytes, bytes]]
EventType = TypeVar("EventType", bound=events.Event)


class RawClient:
    """A TCP client that sends and reads bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, tls: ssl.SSLContext | None = None) -> Self:
        name = "localhost" if tls else None
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name))

    @classmethod
    async def slow(cls, port: int) -> Self:
        """Connect with a small receive buffer, so that a stall shows soon."""
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", port))
        return cls(*await asyncio.open_connection(sock=opened, limit=4096))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.abort()

    def abort(self) -> None:
        self.writer.transport.abort()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def read_all(self) -> bytes:
        """Read until the server closes."""
        parts: list[bytes] = []
        try:
            while part := await self.reader.read(65536):
                parts.append(part)
        except ConnectionResetError:
            parts.append(b"<reset>")
        return b"".join(parts)

    async def response(self) -> tuple[bytes, dict[bytes, bytes], bytes]:
        """Read a status line, headers, and a body of the length that they give."""
        head = (await self.reader.readuntil(b"\r\n\r\n"))[:-4]
        status, *lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines)
        length = int(headers.get(b"content-length", b"0"))
        return status, headers, await self.reader.readexactly(length)

    async def status(self) -> int:
        """Read only the status of a response."""
        return int((await self.reader.readline()).split(b" ")[1])


class RawH2Client:
    """An HTTP/2 client that makes no decisions of its own."""

    def __init__(self, raw: RawClient, window: int) -> None:
        self.raw = raw
        self.seen: list[events.Event] = []
        self.is_closed = False
        self.codec = H2Connection(
            H2Configuration(
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.codec.initiate_connection()
        self.codec.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
        self.flush()

    @classmethod
    async def connect(
        cls, port: int, tls: ssl.SSLContext | None = None, *, window: int = 65535
    ) -> Self:
        return cls(await RawClient.connect(port, tls), window)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.raw.abort()

    def flush(self) -> None:
        self.raw.send(self.codec.data_to_send())

    def frame(self, kind: int, flags: int, stream_id: int, payload: bytes = b"") -> None:
        """Send a frame that the library would not."""
        self.flush()
        head = len(payload).to_bytes(3, "big") + bytes([kind, flags])
        self.raw.send(head + stream_id.to_bytes(4, "big") + payload)

    def open(
        self,
        method: bytes = b"GET",
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        body: bytes | None = None,
        path: bytes = b"/",
    ) -> int:
        """Send a request; with a body it stays open only if the body is empty."""
        stream_id = self.codec.get_next_available_stream_id()
        fields = [(b":method", method), (b":scheme", b"http"), (b":path", path)]
        fields += [(b":authority", b"localhost"), *headers]
        self.codec.send_headers(stream_id, fields, end_stream=body is None)
        if body:
            self.codec.send_data(stream_id, body, end_stream=True)
        self.flush()
        return stream_id

    def increment_window(self, stream_id: int, size: int) -> None:
        """Increment the windows of the stream and of the connection."""
        if not self.codec.streams[stream_id].closed:
            self.codec.increment_flow_control_window(size, stream_id)
        self.codec.increment_flow_control_window(size)
        self.flush()

    async def event(self, kind: type[EventType], stream_id: int | None = None) -> EventType:
        """Wait for an event of a kind, on a stream."""
        while True:
            for place, event in enumerate(self.seen):
                own_id = getattr(event, "stream_id", None)
                if isinstance(event, kind) and stream_id in (None, own_id):
                    del self.seen[place]
                    return event
            if not await self.read():
                raise ConnectionResetError(f"closed before {kind.__name__}: {self.seen}")

    async def read(self) -> bool:
        """Read once; return whether there was something."""
        data = await self.raw.reader.read(65536)
        if not data:
            self.is_closed = True
            return False
        self.seen += self.codec.receive_data(data)
        self.flush()
        return True

    async def response(self, stream_id: int) -> tuple[int, dict[bytes, bytes], bytes]:
        """Read a whole response."""
        head = await self.event(events.ResponseReceived, stream_id)
        headers = dict[bytes, bytes](head.headers or ())
        body = b""
        if head.stream_ended is None:
            while True:
                piece = await self.event(events.DataReceived, stream_id)
                body += piece.data or b""
                if piece.stream_ended is not None:
                    break
        return int(headers[b":status"]), headers, body

    async def closed(self) -> int:
        """Wait for the end of the connection; return the code of the GOAWAY, or -1."""
        codes: list[int] = []
        while True:
            for event in self.seen:
                if isinstance(event, events.ConnectionTerminated):
                    codes.append(int(event.error_code or 0))
            self.seen.clear()
            try:
                if not await self.read():
                    return codes[0] if codes else -1
            except ConnectionResetError:
                return codes[0] if codes else -1


def client_frame(
    opcode: int, data: bytes = b"", *, fin: bool = True, size: int | None = None
) -> bytes:
    """Return a frame as clients send it, masked with zeros; `size` overrides its length."""
    size = len(data) if size is None else size
    length = bytes([size]) if size < 126 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([opcode | (0x80 if fin else 0), length[0] | 0x80]) + length[1:] + bytes(4) + data


async def upgraded_client(port: int) -> RawClient:
    raw = await RawClient.connect(port)
    raw.send(UPGRADE + b"\r\n")
    await raw.reader.readuntil(b"\r\n\r\n")
    return raw
