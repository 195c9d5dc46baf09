"""One request's answer, whichever version of HTTP brings it.

A connection fills it in; who asked either pulls (`read`, `chunks`) or has it pushed (`listen`).
What was not taken yet is kept here, and the peer is told so: room for more is given back only when
a piece was taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from parley.errors import ConnectionClosed, RemoteProtocolError, TransportError

__all__ = ["Exchange", "Headers", "Interrupted", "Response"]

Headers = list[tuple[bytes, bytes]]


class Interrupted(ConnectionClosed):
    """The connection was lost before the answer was whole."""

    def __init__(self, text: str, *, is_unseen: bool = False) -> None:
        super().__init__(text)
        self.is_unseen = is_unseen
        """Whether the server has surely not looked at the request, so that it may be repeated."""


class Exchange(Protocol):
    """What a connection does for an answer."""

    def taken(self, response: Response, size: int, /) -> None:
        """Learn that so many bytes, as the peer counts them, were taken."""

    def hold(self, response: Response, is_held: bool, /) -> None:
        """Learn that nothing is taken for now, or again."""

    def abandon(self, response: Response, /) -> None:
        """Learn that nobody wants the rest."""


class Response:
    """The status, the headers, and the body as it comes."""

    def __init__(self, exchange: Exchange, stream_id: int = 0) -> None:
        self.stream_id = stream_id
        self.status = 0
        """The status; 0 until there is one."""
        self.headers: Headers = []
        """Names in lower case."""
        self.error: TransportError | None = None
        """Why there will be no more."""
        self.has_ended = False
        """Whether everything was received."""
        self.on_head: Callable[[Response], None] | None = None
        """Called once, when there is a status, or an error instead of one."""
        self.on_headers: Callable[[Headers], None] | None = None
        """Called with the headers before anybody else sees them."""
        self._exchange = exchange
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._sink: Callable[[bytes], None] | None = None
        self._on_end: Callable[[TransportError | None], None] | None = None
        self._is_held = False
        self._changed: asyncio.Future[None] | None = None

    def header(self, name: bytes) -> str:
        """Return the first value of a header; empty if there is none."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")

    async def head(self) -> Response:
        """Wait for the status.

        Raises:
            TransportError: There will be none.
        """
        try:
            while not self.status and self.error is None:
                await self._change()
        except asyncio.CancelledError:
            self.cancel()
            raise
        if not self.status and self.error is not None:
            raise self.error
        return self

    async def read(self, limit_bytes: int) -> bytes:
        """Return the whole body.

        Raises:
            RemoteProtocolError: It is longer than the limit.
            TransportError: It did not come wholly.
        """
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > limit_bytes:
                raise RemoteProtocolError(f"the answer is longer than {limit_bytes} bytes")
        return bytes(body)

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Give out the body piece by piece; who leaves early ends the exchange."""
        try:
            while True:
                while self._waiting:
                    chunk, size = self._waiting.popleft()
                    self._exchange.taken(self, size)
                    yield chunk
                if self.error is not None:
                    raise self.error
                if self.has_ended:
                    return
                await self._change()
        finally:
            self.cancel()

    def listen(
        self, sink: Callable[[bytes], None], on_end: Callable[[TransportError | None], None]
    ) -> None:
        """Have the body pushed as it comes, and its end, which may be an error."""
        self._sink, self._on_end = sink, on_end
        self._push()

    def hold(self) -> None:
        """Push nothing for now."""
        self._is_held = True
        self._exchange.hold(self, True)

    def release(self) -> None:
        """Push again."""
        self._is_held = False
        self._exchange.hold(self, False)
        self._push()

    def cancel(self) -> None:
        """Say that nobody wants the rest."""
        if not self.has_ended and self.error is None:
            self.error = Interrupted("nobody waits for the answer any more")
            self._exchange.abandon(self)
        self._sink = self._on_end = None
        while self._waiting:
            self._exchange.taken(self, self._waiting.popleft()[1])

    def head_received(self, status: int, headers: Headers) -> None:
        """Take the status and the headers."""
        self.status, self.headers = status, headers
        if self.on_headers is not None:
            self.on_headers(headers)
        self._tell_head()

    def data_received(self, data: bytes, size: int) -> None:
        """Take a piece of the body, and how much the peer counts for it."""
        if self._sink is not None and not self._is_held and not self._waiting:
            self._sink(data)
            self._exchange.taken(self, size)
        else:
            self._waiting.append((data, size))
            self._wake()

    def ended(self, error: TransportError | None = None) -> None:
        """Learn that nothing more will come."""
        if self.has_ended or self.error is not None:
            return
        self.error, self.has_ended = error, error is None
        if not self.status:
            self._tell_head()
        self._push()
        self._wake()

    def _tell_head(self) -> None:
        on_head, self.on_head = self.on_head, None
        self._wake()
        if on_head is not None:
            on_head(self)

    def _push(self) -> None:
        while self._sink is not None and not self._is_held and self._waiting:
            data, size = self._waiting.popleft()
            self._sink(data)
            self._exchange.taken(self, size)
        if self._is_held or self._waiting or not (self.has_ended or self.error is not None):
            return
        on_end, self._on_end, self._sink = self._on_end, None, None
        if on_end is not None:
            on_end(self.error)

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def _change(self) -> None:
        self._changed = asyncio.get_running_loop().create_future()
        await self._changed
