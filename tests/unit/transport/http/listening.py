"""A TCP server whose connections all end with its block."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

__all__ = ["Connected", "listener", "listening"]

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def listener() -> socket.socket:
    """Return a socket that listens, for a server that is given one.

    It says that it is TCP, which `socket.create_server` does not: else asyncio does not switch off
    Nagle's algorithm on it, and each answer in two pieces takes 40 ms.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.bind(("127.0.0.1", 0))
    made.listen(100)
    return made


@asynccontextmanager
async def listening(connected: Connected) -> AsyncGenerator[int]:
    """Give each connection to a function; gives out the port."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError):
                await connected(reader, writer)
        finally:
            writer.close()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        tasks.add(asyncio.ensure_future(run(reader, writer)))

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
