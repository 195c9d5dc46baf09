"""A server's end of a WebSocket that sends only the bytes of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tests.unit.transport.http.tcp_server import tcp_server
from websockets.utils import accept_key, apply_mask

__all__ = ["BINARY", "CLOSE", "CONTINUATION", "PING", "PONG", "TEXT", "RawServer", "frame"]

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(opcode: int, data: bytes, *, is_last: bool = True) -> bytes:
    """Return a frame as a server writes it."""
    first = opcode | (0x80 if is_last else 0)
    if len(data) < 126:
        return bytes((first, len(data))) + data
    if len(data) < 65536:
        return bytes((first, 126)) + len(data).to_bytes(2, "big") + data
    return bytes((first, 127)) + len(data).to_bytes(8, "big") + data


class Received(NamedTuple):
    opcode: int
    data: bytes


class RawSocket:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.headers: dict[str, str] = {}

    async def read_request(self) -> None:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")[1:-2]
        self.headers = {line.split(":")[0].lower(): line.split(":", 1)[1].strip() for line in lines}

    def accept(self, *headers: str, rest: bytes = b"") -> None:
        """Agree to speak WebSocket, and say something in the same breath."""
        key = accept_key(self.headers["sec-websocket-key"])
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Accept: {key}", *headers, "", ""]
        self.writer.write("\r\n".join(lines).encode() + rest)

    def refuse(self, status: int, body: str = "") -> None:
        head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        self.writer.write(head.encode())

    def say(self, *pieces: bytes) -> None:
        self.writer.write(b"".join(pieces))

    async def read(self) -> Received:
        """Return the next frame; a client masks it."""
        first, second = await self._reader.readexactly(2)
        assert second & 0x80, "a client masks"
        length = second & 0x7F
        if length > 125:
            length = int.from_bytes(
                await self._reader.readexactly(2 if length == 126 else 8), "big"
            )
        mask = await self._reader.readexactly(4)
        return Received(first & 0x0F, apply_mask(await self._reader.readexactly(length), mask))

    async def read_text(self) -> bytes:
        """Return the next text message."""
        while (received := await self.read()).opcode != TEXT:
            pass
        return received.data


class RawServer:
    """Gives a test the connections that it gets."""

    def __init__(self) -> None:
        self.url = ""
        self._sockets: asyncio.Queue[RawSocket] = asyncio.Queue()
        self._open: list[RawSocket] = []

    async def next(self) -> RawSocket:
        """Return the next connection, whose request has been read."""
        return await self._sockets.get()

    def cut(self) -> None:
        """End all connections."""
        for socket in self._open:
            socket.writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = RawSocket(reader, writer)
        self._open.append(socket)
        await socket.read_request()
        self._sockets.put_nowait(socket)
        await asyncio.Event().wait()

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncGenerator[RawServer]:
        self = cls()
        async with tcp_server(self._connected) as port:
            self.url = f"ws://127.0.0.1:{port}/acp"
            yield self
