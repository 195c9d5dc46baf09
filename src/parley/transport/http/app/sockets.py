"""The WebSocket side of the application: one socket from its upgrade to its end.

Every message is one text frame. Binary frames are acknowledgements of peers that negotiated them
and are ignored from everybody else. A peer that negotiated may come back on another socket, also
while the old one is not known to be dead; one that says goodbye properly (1000) does not. A message
that is too long is passed over, and answered by the agent with an error; where another server than
ours runs the application, that may end the socket instead (1009).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from parley.errors import ConnectionClosed
from parley.rpc.framing import Oversized
from parley.transport.http.asgi_types import Message, Receive, Send, WhenGone

from .answers import Header
from .connection import RemoteConnection
from .leaving import Leaving
from .socket_outlet import ACK_BYTES, Socket

__all__ = ["Line"]

_NORMAL = 1000
_AWAY = 1006
_MAX_REASON_BYTES = 123
_AHEAD_BYTES = 1024 * 1024
_EVENT_BYTES = 1024
"""What a message that is read ahead costs at least."""


class Line:
    """One socket of a connection."""

    def __init__(self, connection: RemoteConnection, max_bytes: int) -> None:
        assert isinstance(connection.outlet, Socket)
        self._connection = connection
        self._socket = connection.outlet
        self._max_bytes = max_bytes
        self._leaving = Leaving()
        self._on_gone: Callable[[], None] | None = None
        self._ahead: deque[Message] = deque()
        self._ahead_bytes = 0
        self._receiving: asyncio.Task[Message] | None = None

    def attach(self, seen: int) -> None:
        """Take the connection over from the socket before, behind what the client has seen.

        Raises:
            Refused: What it lacks is forgotten, or was never sent.
        """
        self._socket.attach(seen, self._leaving)

    async def run(
        self,
        receive: Receive,
        send: Send,
        headers: Iterable[Header],
        when_gone: WhenGone | None = None,
    ) -> None:
        """Accept the socket and carry messages until it ends."""
        code = _AWAY
        with self._connection.held(when_gone) as let_go:
            self._on_gone = let_go if when_gone is None else None
            writer: asyncio.Task[None] | None = None
            try:
                async with self._leaving:
                    await send({"type": "websocket.accept", "headers": list(headers)})
                    writer = asyncio.create_task(self._write(send))
                    code = await self._read(receive)
            finally:
                is_present = self._socket.detach(self._leaving)
                if self._receiving is not None:
                    self._receiving.cancel()
                if writer is not None:
                    writer.cancel()
                    await asyncio.wait({writer})
            if is_present and (code == _NORMAL or not self._socket.is_negotiated):
                self._connection.lose(ConnectionClosed("the client closed the connection"))

    async def _read(self, receive: Receive) -> int:
        """Deliver what comes; return the code with which the socket was closed."""
        while True:
            event = await self._next(receive)
            if event["type"] == "websocket.disconnect" or not self._socket.is_on(self._leaving):
                return int(event.get("code") or _AWAY)
            frame = self._frame(event)
            if frame is None:
                continue
            self._socket.took(len(frame))
            taken, refused = self._socket.sessions.inbound(frame)
            for answer in refused:
                self._socket.send(answer)
            with suppress(ConnectionClosed):  # the end is on its way to the client
                for each in taken:
                    if (waiting := self._connection.deliver(each)) is not None:
                        await self._wait(waiting, receive)

    async def _next(self, receive: Receive) -> Message:
        if self._ahead:
            event = self._ahead.popleft()
            self._ahead_bytes -= _size(event)
            return event
        receiving, self._receiving = self._receiving, None
        return await (receive() if receiving is None else receiving)

    async def _wait(self, waiting: asyncio.Future[None], receive: Receive) -> None:
        """Wait for the agent to take a message.

        A server that tells of a client's leaving in its turn alone is read ahead, so far as that
        is bounded: else a client that left would be kept by an agent that reads nothing.
        """
        while self._on_gone is not None and self._ahead_bytes < _AHEAD_BYTES:
            if self._receiving is None:
                self._receiving = asyncio.ensure_future(receive())
            firsts: set[asyncio.Future[Any]] = {waiting, self._receiving}
            await asyncio.wait(firsts, return_when="FIRST_COMPLETED")
            if waiting.done():
                return
            event, self._receiving = self._receiving.result(), None
            self._ahead.append(event)
            self._ahead_bytes += _size(event)
            if event["type"] == "websocket.disconnect":
                self._on_gone()
                self._on_gone = None
        await waiting

    def _frame(self, event: Message) -> bytes | None:
        """Return the message of an event, its ends if it is too long; None if there is none."""
        long: Oversized | None = event.get("oversized")
        if long is not None:
            return long
        text = event.get("text")
        if text is None:
            self._acknowledged(event.get("bytes") or b"")
            return None
        frame: bytes = text.encode()
        if len(frame) > self._max_bytes:
            return Oversized(frame, frame, self._max_bytes)
        return frame

    def _acknowledged(self, data: bytes) -> None:
        if self._socket.is_negotiated and len(data) == ACK_BYTES:
            self._socket.acknowledged(int.from_bytes(data, "big"))

    async def _write(self, send: Send) -> None:
        """Send what the agent says, and in the end why there is nothing more."""
        try:
            await self._socket.pour(send, self._leaving)
            if self._connection.lost is not None:
                told, code = self._connection.told.encode(), self._connection.code
                reason = told[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
                await send({"type": "websocket.close", "code": code, "reason": reason})
        except OSError:
            pass  # the client has gone, which the reader learns
        finally:
            self._leaving.leave()


def _size(event: Message) -> int:
    return _EVENT_BYTES + len(event.get("text") or event.get("bytes") or b"")
