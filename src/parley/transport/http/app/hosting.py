"""Connections as they are made and ended: for each, the agent is served in a task of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import copy_context
from functools import partial

from parley.errors import ConnectionClosed
from parley.rpc.message import Request
from parley.transport.http.asgi_types import Receive
from parley.transport.http.scopes import INITIALIZE
from parley.transport.target import Servable

from .answers import Headers, Refused
from .connection import Facts, Outlet, RemoteConnection
from .limits import AppLimits, Clock
from .log import EventLog, MemoryLog
from .order import Order
from .posts import Bodies, PostBox, check_content, first_answer, read_body, read_message
from .registry import GOING_AWAY, Registry
from .router import Router
from .socket_outlet import Socket

__all__ = ["Hosting"]

logger = logging.getLogger(__name__)

_STREAM_BYTES = 80 * 1024
"""What a server may hold of a stream: what ours does, and a piece."""
_GOING_AWAY = 1001
_FAILED = 1011


class Hosting:
    """Has an agent serve each connection until it ends."""

    def __init__(
        self,
        host: Servable,
        limits: AppLimits,
        *,
        clock: Clock | None,
        open_log: Callable[[Facts], EventLog] | None,
    ) -> None:
        self._host = host
        self._limits = limits
        self._given_clock = clock
        self._open_log = open_log or self._memory_log
        self._context = copy_context()
        self._bodies = Bodies(limits.bodies_bytes)
        self._boxes: dict[RemoteConnection, PostBox] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self.registry = Registry(limits)
        """The connections that there are."""

    async def initialize(
        self, facts: Facts, headers: Headers, receive: Receive, *, is_negotiated: bool
    ) -> tuple[RemoteConnection, bytes]:
        """Make a connection for a POST without one, and return it with the agent's first answer.

        Raises:
            Refused: It is not `initialize`, there is no room, or the agent does not answer.
            Gone: The client has gone.
        """
        check_content(headers)
        body = await read_body(receive, headers, self._limits.body_bytes, self._bodies)
        try:
            message = read_message(body)
            if not isinstance(message, Request) or message.method != INITIALIZE:
                raise Refused(400, "no_connection", "The header Acp-Connection-Id is missing")
            self.registry.check_room(facts.principal)
            connection = self._connect_http(facts, is_negotiated)
            late: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = self._clock.call_later(self._limits.initialize, late.cancel)
            try:
                with connection.held():
                    return connection, await first_answer(connection, message, body, receive, late)
            finally:
                timer.cancel()
        finally:
            self._bodies.remove(len(body))

    def connect_socket(self, facts: Facts, *, is_negotiated: bool) -> RemoteConnection:
        """Make a connection for a WebSocket.

        Raises:
            Refused: There is no room.
        """
        self.registry.check_room(facts.principal)
        socket = Socket(
            limits=self._limits,
            clock=self._clock,
            is_negotiated=is_negotiated,
            check_sessions=partial(self.registry.check_sessions, facts.principal),
        )
        return self._connect(socket, facts, self._limits.grace)

    def router(self, connection: RemoteConnection) -> Router:
        """Return the streams of a connection over HTTP.

        Raises:
            Refused: It is another kind of connection.
        """
        if not isinstance(connection.outlet, Router):
            raise Refused(400, "is_websocket", "This connection is a WebSocket; use its socket")
        return connection.outlet

    def box(self, connection: RemoteConnection) -> PostBox:
        """Return what takes the messages of a connection over HTTP.

        Raises:
            Refused: It is another kind of connection.
        """
        self.router(connection)
        return self._boxes[connection]

    async def aclose(self, grace_after: float) -> None:
        """Make no new connection and end all; the agent is cancelled where it does not end."""
        self.registry.close()
        for connection in self.registry:
            connection.lose(ConnectionClosed(GOING_AWAY), _GOING_AWAY)
        if self._serving:
            await asyncio.wait(set(self._serving), timeout=grace_after)
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(set(self._serving), timeout=grace_after)

    @property
    def _clock(self) -> Clock:
        return self._given_clock or asyncio.get_running_loop()

    def _memory_log(self, facts: Facts) -> EventLog:
        del facts
        limits = self._limits
        return MemoryLog(limits.log_bytes, limits.log_seconds, self._clock.time, _STREAM_BYTES)

    def _connect_http(self, facts: Facts, is_negotiated: bool) -> RemoteConnection:
        limits, clock = self._limits, self._clock
        log = self._open_log(facts) if is_negotiated else None
        router = Router(limits=limits, clock=clock, log=log, is_negotiated=is_negotiated)
        connection = self._connect(router, facts, limits.grace if is_negotiated else limits.idle)
        self._boxes[connection] = PostBox(
            connection,
            limits=limits,
            bodies=self._bodies,
            order=Order(clock, limits.gap, limits.messages) if is_negotiated else None,
            check_sessions=partial(self.registry.check_sessions, facts.principal),
        )
        return connection

    def _connect(self, outlet: Outlet, facts: Facts, linger: float) -> RemoteConnection:
        connection = RemoteConnection(
            outlet, facts, clock=self._clock, linger=linger, flush=self._limits.flush
        )
        self.registry.add(connection)
        serving = asyncio.get_running_loop().create_task(
            self._serve(connection), context=self._context.copy()
        )
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)
        return connection

    async def _serve(self, connection: RemoteConnection) -> None:
        """Serve a connection to its end, whoever ends it."""
        try:
            await self._host.serve(connection)
        except Exception:  # of the program: it ends this connection only
            logger.exception("the agent failed; its connection ends")
            connection.lose(ConnectionClosed("the agent failed"), _FAILED)
        finally:
            await connection.aclose()
            self._boxes.pop(connection, None)
