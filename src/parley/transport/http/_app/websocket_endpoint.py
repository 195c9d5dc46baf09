"""The WebSocket side of the application: one socket from its upgrade to its end.

Every message is one text frame. Binary frames are acknowledgements from peers that negotiated them,
and are ignored from all others. A peer that negotiated may reconnect on another socket, even while
the old one is not known to be dead, unless it closed the old one normally (1000). A message that is
too long is skipped, and the agent responds with an error; under a server other than ours, it may
close the socket instead (1009).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from parley._task_owner import TaskOwner
from parley.asgi_server.extensions import OnDisconnect
from parley.errors import ConnectionClosed
from parley.rpc._framing import OversizedFrame
from parley.transport.http._asgi_types import Message, Receive, Send

from .cancel_scope import CancelScope
from .connection import RemoteConnection
from .local_server_guard import LocalServerGuard
from .responses import Header
from .websocket_sink import ACK_BYTES, WebSocketSink

_NORMAL = 1000
_ABNORMAL = 1006
_MAX_REASON_BYTES = 123
_MAX_READ_AHEAD_BYTES = 1024 * 1024
_EVENT_OVERHEAD_BYTES = 1024
"""The overhead of a message that is read ahead."""


class WebSocketEndpoint:
    """One socket of a connection, from its upgrade to its end.

    Call `attach`, then `run`.
    """

    def __init__(
        self, connection: RemoteConnection, max_bytes: int, guard: LocalServerGuard
    ) -> None:
        assert isinstance(connection.sink, WebSocketSink)
        self._connection = connection
        self._sink = connection.sink
        self._max_bytes = max_bytes
        self._guard = guard
        self._scope = CancelScope()
        self._tasks = TaskOwner("a WebSocket")
        self._on_disconnect: Callable[[], None] | None = None
        self._read_ahead: deque[Message] = deque()
        self._read_ahead_bytes = 0
        self._receiving: asyncio.Task[Message] | None = None

    def attach(self, received: int) -> None:
        """Take the connection over from the previous socket, after `received` messages.

        Raises:
            HttpError: The messages after that are forgotten, or `received` is too high.
        """
        self._sink.attach(received, self._scope)

    async def run(
        self,
        receive: Receive,
        send: Send,
        headers: Iterable[Header],
        on_disconnect: OnDisconnect | None = None,
    ) -> None:
        """Accept the socket and carry messages until it ends."""
        code = _ABNORMAL
        with self._connection.keep_open(on_disconnect) as release:
            self._on_disconnect = release if on_disconnect is None else None
            async with self._tasks:
                try:
                    async with self._scope:
                        await send({"type": "websocket.accept", "headers": list(headers)})
                        self._tasks.create_task(self._write(send))
                        code = await self._read(receive)
                finally:
                    was_current = self._sink.detach(self._scope)
            if was_current and (code == _NORMAL or not self._sink.is_negotiated):
                self._connection.end(ConnectionClosed("the client closed the connection"))

    async def _read(self, receive: Receive) -> int:
        """Deliver messages to the agent; return the code with which the socket was closed."""
        while True:
            event = await self._next(receive)
            if event["type"] == "websocket.disconnect" or not self._sink.is_current(self._scope):
                return int(event.get("code") or _ABNORMAL)
            frame = self._frame(event)
            if frame is None:
                continue
            self._sink.message_received(len(frame))
            accepted, responses = self._sink.sessions.inbound(frame)
            for response in responses:
                self._sink.send(response)
            with suppress(ConnectionClosed):  # the close frame reports it
                for each in accepted:
                    await self._deliver(each, receive)

    async def _deliver(self, frame: bytes, receive: Receive) -> None:
        """Deliver a frame to the agent, without the messages that the guard refuses."""
        accepted, responses = await self._guard.filter(frame)
        for response in responses:
            self._connection.send(response)
        for each in accepted:
            if (waiting := self._connection.deliver(each)) is not None:
                await self._wait(waiting, receive)

    async def _next(self, receive: Receive) -> Message:
        if self._read_ahead:
            event = self._read_ahead.popleft()
            self._read_ahead_bytes -= _size(event)
            return event
        receiving, self._receiving = self._receiving, None
        return await (receive() if receiving is None else receiving)

    async def _wait(self, waiting: asyncio.Future[None], receive: Receive) -> None:
        """Wait for the agent to take a message.

        Without the `on_disconnect` extension, a server reports a disconnect only after all earlier
        messages. So read ahead, within a limit: otherwise an agent that does not read would keep
        the connection of a client that has left.
        """
        while self._on_disconnect is not None and self._read_ahead_bytes < _MAX_READ_AHEAD_BYTES:
            if self._receiving is None:
                self._receiving = self._tasks.create_task(_receive(receive))
            pending: set[asyncio.Future[Any]] = {waiting, self._receiving}
            await asyncio.wait(pending, return_when="FIRST_COMPLETED")
            if waiting.done():
                return
            event, self._receiving = self._receiving.result(), None
            self._read_ahead.append(event)
            self._read_ahead_bytes += _size(event)
            if event["type"] == "websocket.disconnect":
                self._on_disconnect()
                self._on_disconnect = None
        await waiting

    def _frame(self, event: Message) -> bytes | None:
        """Return the message of an event, only its ends if it is too long; None if it has none."""
        if (ends := event.get("oversized")) is not None:
            return OversizedFrame(ends["head"], ends["tail"], ends["limit_bytes"])
        text = event.get("text")
        if text is None:
            self._handle_ack(event.get("bytes") or b"")
            return None
        frame: bytes = text.encode()
        if len(frame) > self._max_bytes:
            return OversizedFrame(frame, frame, self._max_bytes)
        return frame

    def _handle_ack(self, data: bytes) -> None:
        if self._sink.is_negotiated and len(data) == ACK_BYTES:
            self._sink.acknowledge(int.from_bytes(data, "big"))

    async def _write(self, send: Send) -> None:
        """Send the agent's frames, and finally the close code with its reason."""
        try:
            await self._sink.run(send, self._scope)
            if self._connection.close_reason is not None:
                text, code = self._connection.client_reason.encode(), self._connection.close_code
                reason = text[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
                await send({"type": "websocket.close", "code": code, "reason": reason})
        except OSError:
            pass  # the client has disconnected; the reader notices it, too
        finally:
            self._scope.cancel()


async def _receive(receive: Receive) -> Message:
    """Receive as a coroutine, which a task requires: servers may return any awaitable."""
    return await receive()


def _size(event: Message) -> int:
    return _EVENT_OVERHEAD_BYTES + len(event.get("text") or event.get("bytes") or b"")
