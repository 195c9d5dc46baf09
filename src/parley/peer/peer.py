"""One live connection to a peer: requests, notifications, handlers.

A `Peer` joins a transport, the JSON-RPC engine, the method table of one protocol version and the
dispatcher, whose docstring states the order in which things are handled and how much may wait. It
does not know what the methods mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from msgspec import structs

from parley.errors import AcpError, ConnectionClosed, InvalidRequest, MethodNotFound, RequestError
from parley.rpc.engine import Engine, Rules
from parley.rpc.framing import Frame
from parley.schema.base import Method, Table
from parley.transport.base import Transport

from .dispatch import Dispatcher
from .inbound import Inbound
from .limits import Limits
from .middleware import Observer, Tracer, guarded
from .outbound import Outbound
from .request import Ticket
from .routes import NotificationHandler, RequestHandler, Role, Typed, build_routes
from .stage import Stage

__all__ = ["Peer"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_CLOSE_GRACE = 1.0


class Peer:
    """The other side of one connection.

    Use it as `async with Peer(…) as peer`, or call `start` and `aclose`.
    """

    def __init__(
        self,
        transport: Transport,
        role: Role,
        *,
        name: str = "",
        limits: Limits | None = None,
        observer: Observer | None = None,
        tracer: Tracer | None = None,
        skips_noise: bool = False,
    ) -> None:
        """Prepare a connection; nothing is read before `start`.

        Args:
            transport: What carries it.
            role: What *we* are on it.
            name: What to call the peer in logs and errors.
            limits: What it may hold.
            observer: Sees each frame, in both directions.
            tracer: Takes part in distributed tracing; by default trace context is passed on.
            skips_noise: Whether lines that are no JSON are passed over instead of answered.
        """
        limits = limits or Limits()
        observer = None if observer is None else guarded(observer)
        self.name = name or ("client" if role == "agent" else "agent")
        """What the peer is called in logs and errors."""
        self._given_name = name
        self.role: Role = role
        """What we are."""
        self.table: Table | None = None
        """The methods of the version that was agreed on; None before that."""
        self._transport = transport
        self._engine: Engine[Ticket] = Engine(
            Rules(skips_noise=skips_noise, max_depth=limits.depth)
        )
        self._dispatcher = Dispatcher(transport, limits)
        self._outbound = Outbound(
            transport,
            self._engine,
            self._dispatcher,
            limits=limits,
            tracer=tracer,
            observer=observer,
        )
        self._inbound = Inbound(
            self,
            self._engine,
            self._dispatcher,
            self._outbound,
            limits=limits,
            tracer=tracer,
            observer=observer,
        )
        self._closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()

    def use(
        self,
        table: Table | None,
        *,
        requests: Mapping[str, RequestHandler | Typed] | None = None,
        notifications: Mapping[str, NotificationHandler | Typed] | None = None,
    ) -> None:
        """Speak this version from now on, with these handlers by method name.

        Without a table, which is the state before `initialize`, handlers get their params raw.

        Raises:
            LocalProtocolError: A handler is for a method that our role does not handle.
        """
        self._inbound.use(
            build_routes(requests or {}, table, "request", self.role),
            build_routes(notifications or {}, table, "notification", self.role),
        )
        self.table = table
        self._engine.rules = structs.replace(
            self._engine.rules, allows_null_ids=table is None or table.allows_null_ids
        )

    def start(self) -> None:
        """Begin to read."""
        self._transport.start(self)

    async def __aenter__(self) -> Peer:
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
        on_error: Callable[[AcpError], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        """Send a request and return its result.

        When the waiting task is cancelled, so is the request. A call made directly in an update
        handler may be awaited there, also through a wrapper such as `asyncio.wait_for`: the right
        to pass the barrier is taken when this is called, not when it is awaited.

        Args:
            method: A row of the method table, such as `v1.methods.PROMPT`.
            params: Its params.
            on_result: Called with the result as soon as it arrives, before anything that came
                after it is handled; what it raises, this call raises.
            on_error: Called in the same way with the error, when there will be no result.

        Raises:
            RequestError: The peer refused.
            RemoteProtocolError: Its answer is malformed.
            ConnectionClosed: The connection ended before the answer came.
            Overloaded: A bound was reached; see `dispatch.py`.
        """
        return self._outbound.request(
            method,
            params,
            lane=self._dispatcher.current_lane(),
            on_result=on_result,
            on_error=on_error,
        )

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification; waits while the peer takes no more.

        Raises:
            ConnectionClosed: The connection is closed, perhaps before the message was taken.
            Overloaded: A bound was reached, perhaps while the message waited; see `dispatch.py`.
        """
        return self._outbound.notify(method.name, params)

    def update(
        self, method: Method[Any, None], session: str, update: Any
    ) -> Coroutine[Any, Any, None]:
        """Send an update of a session: what `notify` does, for what is sent most."""
        return self._outbound.update(method.name, session, update)

    def post(self, session: str, run: Callable[[T], Awaitable[None] | None], argument: T) -> None:
        """Have something done in a session's turn, as if the peer had sent it now."""
        self._dispatcher.put(session, 0, run, argument)

    def stage(self, session: str) -> Stage:
        """Say that a loop handles the updates of a session from now on, not their handler."""
        return self._dispatcher.stage(session)

    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the connection has ended, and return why."""
        return await asyncio.shield(self._closed)

    async def aclose(self) -> None:
        """Close the connection; what still waits for an answer fails.

        A handler may call this too: it is then the only one that goes on.
        """
        reason = ConnectionClosed(f"the connection to the {self.name} was closed")
        self._dispatcher.spare_caller()
        try:
            await self._transport.aclose()
            if not self._closed.done():  # a transport that was never started tells nobody
                self._lose(reason)
            await self._dispatcher.aclose(_CLOSE_GRACE)
        finally:
            self._dispatcher.cancel()  # who loses patience still wants the handlers to end
            self._outbound.close(reason)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Take what the transport has read."""
        self._inbound.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Learn from the transport that the connection has ended."""
        self._lose(reason.named(self._given_name) if self._given_name else reason)

    def _lose(self, reason: ConnectionClosed) -> None:
        self._closed.set_result(reason)
        self._outbound.lose(reason)
        self._dispatcher.cancel_serving()

    def unknown_method(self, method: str) -> RequestError:
        """Return why there is no handler for a request."""
        if self.table is None and method not in ("proxy/initialize", "_proxy/initialize"):
            return InvalidRequest(f"{method} is not possible before initialize")
        if method == "initialize":
            return InvalidRequest("The connection is initialized already")
        return MethodNotFound(data={"method": method})
