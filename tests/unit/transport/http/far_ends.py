"""Peers of the server, and an application that a test plays itself.

`Stage` is the application: each request is a `Call` that the test takes and answers when it likes.
`Raw` speaks bytes, `H2Peer` frames, both over real sockets, and neither does anything unasked: in
particular nobody gives windows back.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from parley.transport.http.asgi_types import App, Message, Receive, Scope, Send
from parley.transport.http.limits import ServerLimits
from parley.transport.http.server.server import Server

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
Fields = list[tuple[bytes, bytes]]
EventType = TypeVar("EventType", bound=events.Event)


@asynccontextmanager
async def serving(
    app: App, *, tls: ssl.SSLContext | None = None, **limits: Any
) -> AsyncGenerator[tuple[Server, int]]:
    async with Server(app, tls=tls, limits=ServerLimits(**limits)) as server:
        ((_, port),) = server.addresses
        yield server, port


class Call:
    """One request, in the hands of a test."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def headers(self) -> Fields:
        headers: Fields = self.scope["headers"]
        return headers

    async def body(self) -> bytes:
        parts: list[bytes] = []
        while True:
            message = await self.receive()
            assert message["type"] == "http.request", message
            parts.append(message["body"])
            if not message["more_body"]:
                return b"".join(parts)

    async def start(self, status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        start = {"type": "http.response.start", "status": status, "headers": list(headers)}
        await self.send(start)

    async def piece(self, body: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(
        self, body: bytes = b"", status: int = 200, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        await self.start(status, headers)
        await self.piece(body, more=False)
        self.end()

    def end(self, error: Exception | None = None) -> None:
        if error is None:
            self.over.set_result(None)
        else:
            self.over.set_exception(error)


class Stage:
    """An application whose requests a test answers."""

    def __init__(self) -> None:
        self.calls: asyncio.Queue[Call] = asyncio.Queue()
        self.count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = Call(scope, receive, send)
        self.count += 1
        self.calls.put_nowait(call)
        await call.over

    async def next(self) -> Call:
        return await self.calls.get()


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with its body, and messages of a WebSocket with themselves."""
    if scope["type"] == "websocket":
        await _echo_messages(receive, send)
        return
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def _echo_messages(receive: Receive, send: Send) -> None:
    message: Message = await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        kind = "text" if "text" in message else "bytes"
        await send({"type": "websocket.send", kind: message[kind]})


class Raw:
    """Bytes out, bytes in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, tls: ssl.SSLContext | None = None) -> Self:
        name = "localhost" if tls else None
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name))

    @classmethod
    async def slow(cls, port: int) -> Self:
        """Connect with little room in the kernel, so that a stall shows soon."""
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

    async def all(self) -> bytes:
        """Read until the server closes."""
        parts: list[bytes] = []
        try:
            while part := await self.reader.read(65536):
                parts.append(part)
        except ConnectionResetError:
            parts.append(b"<reset>")
        return b"".join(parts)

    async def answer(self) -> tuple[bytes, dict[bytes, bytes], bytes]:
        """Read a status line, headers, and a body of the length that they give."""
        head = (await self.reader.readuntil(b"\r\n\r\n"))[:-4]
        status, *lines = head.split(b"\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines)
        length = int(headers.get(b"content-length", b"0"))
        return status, headers, await self.reader.readexactly(length)

    async def status(self) -> int:
        """Read only the status of an answer."""
        return int((await self.reader.readline()).split(b" ")[1])


class H2Peer:
    """A client that speaks HTTP/2 and takes no decision of its own."""

    def __init__(self, raw: Raw, window: int) -> None:
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
        return cls(await Raw.connect(port, tls), window)

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

    def give(self, stream_id: int, size: int) -> None:
        """Give a window of the stream and the connection back."""
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
        """Read once; tell whether there was something."""
        data = await self.raw.reader.read(65536)
        if not data:
            self.is_closed = True
            return False
        self.seen += self.codec.receive_data(data)
        self.flush()
        return True

    async def response(self, stream_id: int) -> tuple[int, dict[bytes, bytes], bytes]:
        """Read a whole answer."""
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

    async def goodbye(self) -> int:
        """Wait for the end of the connection; return the code that it was given."""
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


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, size: int | None = None) -> bytes:
    """A frame as clients send them, under a mask of zeros; its length may lie."""
    size = len(data) if size is None else size
    length = bytes([size]) if size < 126 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([opcode | (0x80 if fin else 0), length[0] | 0x80]) + length[1:] + bytes(4) + data


async def upgraded(port: int) -> Raw:
    raw = await Raw.connect(port)
    raw.send(UPGRADE + b"\r\n")
    await raw.reader.readuntil(b"\r\n\r\n")
    return raw


async def accepted(stage: Stage) -> Call:
    call = await stage.next()
    assert await call.receive() == {"type": "websocket.connect"}
    await call.send({"type": "websocket.accept"})
    return call
