"""A server's end of HTTP/2 that sends its settings, and then only what a test sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeVar

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event, RequestReceived
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame
from tests.unit.transport.http.tcp_server import tcp_server

__all__ = ["H2Server", "H2Socket"]

Kind = TypeVar("Kind", bound=Event)


class H2Socket:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most_streams: int
    ) -> None:
        self._reader = reader
        self.writer = writer
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self.h2.local_settings[SettingCodes.MAX_CONCURRENT_STREAMS] = most_streams
        self.h2.local_settings.acknowledge()
        self.h2.initiate_connection()
        self.events: list[Event] = []
        self.is_mute = False
        """Whether it says nothing any more."""
        self._changed = asyncio.Event()
        self.flush()

    async def run(self) -> None:
        while data := await self._reader.read(65536):
            self.events += self.h2.receive_data(data)
            self.flush()
            self._changed.set()
        self._changed.set()

    def flush(self) -> None:
        if not self.is_mute:
            self.writer.write(self.h2.data_to_send())

    async def until(self, kind: type[Kind], count: int = 1) -> list[Kind]:
        """Wait until there were so many events of a kind, and return them."""
        while len(found := [each for each in self.events if isinstance(each, kind)]) < count:
            self._changed.clear()
            await self._changed.wait()
        return found

    async def request(self, number: int = 0) -> tuple[int, dict[str, str]]:
        """Return a request's stream and headers."""
        request = (await self.until(RequestReceived, number + 1))[number]
        headers = {str(name): str(value) for name, value in request.headers}
        return request.stream_id, headers

    def respond(self, stream: int, body: bytes | None = b"", status: int = 200) -> None:
        """Respond; a body of None means that the body follows later."""
        self.h2.send_headers(stream, [(":status", str(status))], end_stream=body == b"")
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.flush()

    def go_away(self, last_stream: int) -> None:
        """Take no further request; the library itself would forbid everything else too."""
        farewell = GoAwayFrame(0)
        farewell.last_stream_id = last_stream
        self.writer.write(farewell.serialize())


class H2Server:
    """Gives a test the connections that it gets."""

    def __init__(self, most_streams: int) -> None:
        self.url = ""
        self._most = most_streams
        self._sockets: asyncio.Queue[H2Socket] = asyncio.Queue()

    async def next(self) -> H2Socket:
        return await self._sockets.get()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = H2Socket(reader, writer, self._most)
        self._sockets.put_nowait(socket)
        await socket.run()

    @classmethod
    @asynccontextmanager
    async def open(cls, most_streams: int = 100) -> AsyncGenerator[H2Server]:
        self = cls(most_streams)
        async with tcp_server(self._connected) as port:
            self.url = f"http://127.0.0.1:{port}"
            yield self
