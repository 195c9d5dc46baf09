"""An HTTP response, independent of the HTTP version.

A connection fills it in. The caller either pulls the body (`read`, `chunks`) or has it pushed to a
callback (`listen`). Chunks that are not consumed yet are kept here, and flow control applies: the
peer may send more only when a chunk is consumed. Statuses are translated in `http_errors.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from parley.errors import ConnectionClosed, RemoteProtocolError, TransportError

Headers = list[tuple[bytes, bytes]]


class RequestInterrupted(ConnectionClosed):
    """The connection was lost before the response was complete."""

    def __init__(self, text: str, *, is_unprocessed: bool = False) -> None:
        super().__init__(text)
        self.is_unprocessed = is_unprocessed
        """Whether the server has certainly not seen the request, so that it can be repeated."""


class ResponseConnection(Protocol):
    """The operations of a connection that a `Response` uses."""

    def data_consumed(self, response: Response, size: int, /) -> None:
        """Called when this many bytes, as the peer's flow control counts them, were consumed."""

    def set_paused(self, response: Response, is_paused: bool, /) -> None:
        """Pause or resume receiving the body."""

    def cancel_request(self, response: Response, /) -> None:
        """Cancel the request: the rest of the response is not wanted."""


class Response:
    """The status and headers of a response, and its body as it arrives."""

    def __init__(self, connection: ResponseConnection, stream_id: int = 0) -> None:
        self.stream_id = stream_id
        self.status = 0
        """The HTTP status; 0 until it is received."""
        self.headers: Headers = []
        """The headers, names in lower case."""
        self.error: TransportError | None = None
        """Why the response will never be complete, if it failed."""
        self.has_ended = False
        """Whether the whole response was received."""
        self.on_head: Callable[[Response], None] | None = None
        """Called once, when the status is received or the request fails without one."""
        self.on_headers: Callable[[Headers], None] | None = None
        """Called with the headers, before `on_head`."""
        self._connection = connection
        self._chunks: deque[tuple[bytes, int]] = deque()
        self._sink: Callable[[bytes], None] | None = None
        self._on_end: Callable[[TransportError | None], None] | None = None
        self._is_paused = False
        self._changed: asyncio.Future[None] | None = None

    def header(self, name: bytes) -> str:
        """Return the first value of a header, or an empty string."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")

    async def head(self) -> Response:
        """Wait for the status and the headers, and return the response itself.

        Raises:
            TransportError: The request failed without a status.
        """
        try:
            while not self.status and self.error is None:
                await self._wait_for_change()
        except asyncio.CancelledError:
            self.cancel()
            raise
        if not self.status and self.error is not None:
            raise self.error
        return self

    async def read(self, limit_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            RemoteProtocolError: The body is longer than the limit.
            TransportError: The connection was lost before the body was complete.
        """
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > limit_bytes:
                raise RemoteProtocolError(f"the response is longer than {limit_bytes} bytes")
        return bytes(body)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Yield the body chunk by chunk; leaving the loop early cancels the request.

        Raises:
            TransportError: The connection was lost before the body was complete.
        """
        try:
            while True:
                while self._chunks:
                    chunk, size = self._chunks.popleft()
                    self._connection.data_consumed(self, size)
                    yield chunk
                if self.error is not None:
                    raise self.error
                if self.has_ended:
                    return
                await self._wait_for_change()
        finally:
            self.cancel()

    def listen(
        self, sink: Callable[[bytes], None], on_end: Callable[[TransportError | None], None]
    ) -> None:
        """Push the body to `sink` as it arrives, then call `on_end` with the error, if any."""
        self._sink, self._on_end = sink, on_end
        self._push()

    def pause(self) -> None:
        """Pause pushing."""
        self._is_paused = True
        self._connection.set_paused(self, True)

    def resume(self) -> None:
        """Resume pushing."""
        self._is_paused = False
        self._connection.set_paused(self, False)
        self._push()

    def cancel(self) -> None:
        """Cancel the request if it is still pending, and discard the rest of the body."""
        if not self.has_ended and self.error is None:
            self.error = RequestInterrupted("the request was cancelled")
            self._connection.cancel_request(self)
        self._sink = self._on_end = None
        while self._chunks:
            self._connection.data_consumed(self, self._chunks.popleft()[1])

    def head_received(self, status: int, headers: Headers) -> None:
        """Store the status and the headers; called by the connection."""
        self.status, self.headers = status, headers
        if self.on_headers is not None:
            self.on_headers(headers)
        self._report_head()

    def data_received(self, data: bytes, size: int) -> None:
        """Accept a chunk of the body; `size` is what the peer's flow control counts for it."""
        if self._sink is not None and not self._is_paused and not self._chunks:
            self._sink(data)
            self._connection.data_consumed(self, size)
        else:
            self._chunks.append((data, size))
            self._wake()

    def ended(self, error: TransportError | None = None) -> None:
        """Mark the response as complete, or failed; called by the connection."""
        if self.has_ended or self.error is not None:
            return
        self.error, self.has_ended = error, error is None
        if not self.status:
            self._report_head()
        self._push()
        self._wake()

    def _report_head(self) -> None:
        on_head, self.on_head = self.on_head, None
        self._wake()
        if on_head is not None:
            on_head(self)

    def _push(self) -> None:
        """Push the kept chunks to the sink, then report the end; the sink may pause this."""
        while self._sink is not None and not self._is_paused and self._chunks:
            data, size = self._chunks.popleft()
            self._sink(data)
            self._connection.data_consumed(self, size)
        if self._is_paused or self._chunks or not (self.has_ended or self.error is not None):
            return
        on_end, self._on_end, self._sink = self._on_end, None, None
        if on_end is not None:
            on_end(self.error)

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def _wait_for_change(self) -> None:
        """Wait for the next call of `_wake`."""
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed
