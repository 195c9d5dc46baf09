"""The WebSocket side of the application: one socket from its upgrade to its end.

Every message is one text frame. Binary frames are acknowledgements of peers that negotiated them
and are ignored from everybody else. A peer that negotiated may come back on another socket, also
while the old one is not known to be dead; one that says goodbye properly (1000) does not. A message
that is too long is passed over, and answered by the agent with an error; where another server than
ours runs the application, that may end the socket instead (1009).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.rpc.framing import Oversized

from .answers import Header
from .asgi_types import Message, Receive, Send, WhenGone
from .connection import RemoteConnection
from .leaving import Leaving
from .ws_outlet import ACK_BYTES, Socket

__all__ = ["Line"]

_NORMAL = 1000
_AWAY = 1006
_MAX_REASON_BYTES = 123


class Line:
    """One socket of a connection."""

    def __init__(self, connection: RemoteConnection, max_bytes: int) -> None:
        assert isinstance(connection.outlet, Socket)
        self._connection = connection
        self._socket = connection.outlet
        self._max_bytes = max_bytes
        self._leaving = Leaving()

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
        with self._connection.held(when_gone):
            writer: asyncio.Task[None] | None = None
            try:
                async with self._leaving:
                    await send({"type": "websocket.accept", "headers": list(headers)})
                    writer = asyncio.create_task(self._write(send))
                    code = await self._read(receive)
            finally:
                is_present = self._socket.detach(self._leaving)
                if writer is not None:
                    writer.cancel()
                    await asyncio.wait({writer})
            if is_present and (code == _NORMAL or not self._socket.is_negotiated):
                self._connection.lose(ConnectionClosed("the client closed the connection"))

    async def _read(self, receive: Receive) -> int:
        """Deliver what comes; return the code with which the socket was closed."""
        while True:
            event = await receive()
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
