"""The lifecycle of connections: on each, the agent is served in its own task.

The open connections, and the limits on them, are in `connection_registry.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

from parley._task_owner import TaskOwner
from parley.errors import ConnectionClosed
from parley.rpc._message import Request
from parley.transport._target import Servable
from parley.transport.http._asgi_types import Receive
from parley.transport.http._stream_routing import INITIALIZE

from .connection import ClientAddressInfo, FrameSink, RemoteConnection
from .connection_registry import GOING_AWAY, ConnectionRegistry
from .event_log import EventLog, MemoryEventLog
from .limits import AppLimits, Clock
from .local_server_guard import LocalServerGuard
from .post_inbox import (
    BodyBudget,
    PostInbox,
    check_content,
    deliver_initialize,
    read_body,
    read_message,
)
from .post_order import PostOrder
from .responses import Headers, HttpError
from .stream_router import StreamRouter
from .websocket_sink import WebSocketSink

logger = logging.getLogger(__name__)

_SERVER_BUFFER_BYTES = 80 * 1024
"""The bytes of a stream that a server may buffer: that of our own server, plus one chunk."""
_GOING_AWAY = 1001
_FAILED = 1011


class ConnectionManager:
    """The connections of an application; the agent serves each of them until it ends."""

    def __init__(
        self,
        host: Servable,
        limits: AppLimits,
        *,
        clock: Clock | None,
        open_log: Callable[[ClientAddressInfo], EventLog] | None,
        guard: LocalServerGuard,
    ) -> None:
        self._host = host
        self._guard = guard
        self._limits = limits
        self._custom_clock = clock
        self._open_log = open_log or self._memory_log
        self._context = copy_context()
        self._bodies = BodyBudget(limits.bodies_bytes)
        self._inboxes: dict[RemoteConnection, PostInbox] = {}
        self._tasks = TaskOwner("the connections of an agent")
        self.registry = ConnectionRegistry(limits)
        """The open connections."""

    async def initialize(
        self, client: ClientAddressInfo, headers: Headers, receive: Receive, *, is_negotiated: bool
    ) -> tuple[RemoteConnection, bytes]:
        """Create a connection for a POST of `initialize`; return it with the agent's response.

        Raises:
            HttpError: It is not `initialize`, a limit is reached, or the agent does not respond.
            ClientDisconnected: The client has disconnected.
        """
        check_content(headers)
        body = await read_body(receive, headers, self._limits.body_bytes, self._bodies)
        try:
            message = read_message(body)
            if not isinstance(message, Request) or message.method != INITIALIZE:
                raise HttpError(400, "no_connection", "The header Acp-Connection-Id is missing")
            self.registry.check_connections(client.principal)
            connection = self._connect_http(client, is_negotiated)
            deadline: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = self._clock.call_later(self._limits.initialize, deadline.cancel)
            try:
                with connection.keep_open():
                    return connection, await deliver_initialize(
                        connection, message, body, receive, deadline
                    )
            finally:
                timer.cancel()
        finally:
            self._bodies.remove(len(body))

    def connect_socket(self, client: ClientAddressInfo, *, is_negotiated: bool) -> RemoteConnection:
        """Create a connection for a WebSocket.

        Raises:
            HttpError: A limit is reached.
        """
        self.registry.check_connections(client.principal)
        socket = WebSocketSink(
            limits=self._limits,
            clock=self._clock,
            is_negotiated=is_negotiated,
            check_sessions=partial(self.registry.check_sessions, client.principal),
        )
        return self._connect(socket, client, self._limits.grace)

    def router(self, connection: RemoteConnection) -> StreamRouter:
        """Return the router of a connection over HTTP.

        Raises:
            HttpError: The connection is a WebSocket.
        """
        if not isinstance(connection.sink, StreamRouter):
            raise HttpError(
                400, "is_websocket", "This connection is a WebSocket; send messages on it"
            )
        return connection.sink

    def post_inbox(self, connection: RemoteConnection) -> PostInbox:
        """Return the inbox for the messages that are posted to a connection over HTTP.

        Raises:
            HttpError: The connection is a WebSocket.
        """
        self.router(connection)
        return self._inboxes[connection]

    async def aclose(self, grace_after: float) -> None:
        """Refuse new connections and end all others; cancel the agent where it does not finish.

        Args:
            grace_after: The seconds to wait before cancelling, and again after it.
        """
        self.registry.close()
        for connection in self.registry:
            connection.end(ConnectionClosed(GOING_AWAY), _GOING_AWAY)
        await self._tasks.wait(grace_after)
        await self._tasks.aclose(grace_after)
        await self._guard.aclose()

    @property
    def _clock(self) -> Clock:
        return self._custom_clock or asyncio.get_running_loop()

    def _memory_log(self, client: ClientAddressInfo) -> EventLog:
        del client
        limits = self._limits
        return MemoryEventLog(
            limits.log_bytes, limits.log_seconds, self._clock.time, _SERVER_BUFFER_BYTES
        )

    def _connect_http(self, client: ClientAddressInfo, is_negotiated: bool) -> RemoteConnection:
        limits, clock = self._limits, self._clock
        log = self._open_log(client) if is_negotiated else None
        router = StreamRouter(limits=limits, clock=clock, log=log, is_negotiated=is_negotiated)
        connection = self._connect(router, client, limits.grace if is_negotiated else limits.idle)
        self._inboxes[connection] = PostInbox(
            connection,
            limits=limits,
            bodies=self._bodies,
            post_order=PostOrder(clock, limits.gap, limits.messages) if is_negotiated else None,
            check_sessions=partial(self.registry.check_sessions, client.principal),
            guard=self._guard,
        )
        return connection

    def _connect(
        self, sink: FrameSink, client: ClientAddressInfo, linger: float
    ) -> RemoteConnection:
        connection = RemoteConnection(
            sink, client, clock=self._clock, linger=linger, flush=self._limits.flush
        )
        self.registry.add(connection)
        self._tasks.create_task(self._serve(connection), context=self._context.copy())
        return connection

    async def _serve(self, connection: RemoteConnection) -> None:
        """Serve a connection until either side ends it."""
        try:
            await self._host.serve(connection)
        except Exception:  # a defect in the agent ends only this connection
            logger.exception("the agent failed; closing its connection")
            connection.end(ConnectionClosed("the agent failed"), _FAILED)
        finally:
            await connection.aclose()
            self._inboxes.pop(connection, None)
