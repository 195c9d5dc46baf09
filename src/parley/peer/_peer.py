"""One live connection to a peer: requests, notifications, handlers.

A `Peer` combines a transport, the JSON-RPC engine, the method table of one protocol version and the
dispatcher, whose module docstring states the ordering contract. It does not know
what the methods mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from msgspec import Raw, structs

from parley._task_owner import TaskOwner
from parley.errors import AcpError, ConnectionClosed, InvalidRequest, MethodNotFound, RequestError
from parley.rpc._engine import Engine, EngineConfig
from parley.rpc._framing import Frame
from parley.schema.base import Method, MethodTable
from parley.transport._base import Transport

from ._dispatcher import ConsumerBarrier, Dispatcher
from ._flow_control import ReadFlowControl
from ._inbound import Inbound
from ._limits import Limits
from ._outbound import Outbound
from ._peer_name import with_article
from ._request import PendingRequest
from ._routes import (
    NotificationHandler,
    RequestHandler,
    Role,
    TypedHandler,
    build_routes,
)
from ._tracing import Observer, Observers, Tracer, as_observers

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_CLOSE_GRACE = 1.0


class Peer:
    """One side of a live connection: sends requests and notifications, and runs handlers.

    Create it on a transport, then use `async with Peer(…) as peer`, or call `start` and `aclose`.
    Negotiate the version with `initialize` or `respond_to_initialize`, which call `set_handlers`.
    Then `request` sends a request and returns its typed result, and `notify` sends a notification.
    `wait_closed` returns why the connection ended.
    """

    def __init__(
        self,
        transport: Transport,
        role: Role,
        *,
        name: str = "",
        limits: Limits | None = None,
        observer: Observer | Observers | None = None,
        tracer: Tracer | None = None,
        skips_noise: bool = False,
    ) -> None:
        """Prepare a connection; nothing is read before `start`.

        Args:
            transport: Carries the frames.
            role: *Our* role on the connection.
            name: The name of the peer in logs and errors.
            limits: How much the connection may hold in memory.
            observer: Called with each frame, in both directions.
            tracer: Takes part in distributed tracing; by default, trace context is passed on.
            skips_noise: Whether to skip lines that are not JSON instead of sending an error.
        """
        limits = limits or Limits()
        observers = as_observers(observer)
        self.name = name or ("client" if role == "agent" else "agent")
        """The name of the peer in logs and errors."""
        self._prefix = name
        self.role: Role = role
        """Our role."""
        self.table: MethodTable | None = None
        """The methods of the negotiated version; None before `initialize`."""
        self._transport = transport
        self._engine: Engine[PendingRequest] = Engine(
            EngineConfig(skips_noise=skips_noise, max_depth=limits.depth)
        )
        self._dispatcher = Dispatcher(ReadFlowControl(transport, limits))
        self._outbound = Outbound(
            transport,
            self._engine,
            self._dispatcher,
            name=name,
            limits=limits,
            tracer=tracer,
            observers=observers,
        )
        self.notify_update = self._outbound.notify_update
        """Send an update of a session; faster than `notify` for the most frequent message."""
        self._inbound = Inbound(
            self,
            self._engine,
            self._dispatcher,
            self._outbound,
            limits=limits,
            tracer=tracer,
            observers=observers,
        )
        self._tasks = TaskOwner(self.name, expected=(ConnectionClosed,))
        self._closing: ConnectionClosed | None = None
        """The reason for the end, once `aclose` was called."""
        self._closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()

    def set_handlers(
        self,
        table: MethodTable | None,
        *,
        requests: Mapping[str, RequestHandler | TypedHandler] | None = None,
        notifications: Mapping[str, NotificationHandler | TypedHandler] | None = None,
    ) -> None:
        """Set the method table and the handlers, by method name; replaces the earlier ones.

        Without a table, which is the state before `initialize`, handlers get raw params.

        Raises:
            LocalProtocolError: A handler is for a method that our role does not handle.
        """
        self._inbound.set_handlers(
            build_routes(requests or {}, table, "request", self.role),
            build_routes(notifications or {}, table, "notification", self.role),
        )
        self.table = table
        self._engine.config = structs.replace(
            self._engine.config, allows_null_ids=table is None or table.allows_null_ids
        )

    def start(self) -> None:
        """Start reading."""
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
        """Send a request and return its typed result.

        If the waiting task is cancelled, so is the request. An update handler may await a request
        that it makes itself, also through a wrapper such as `asyncio.wait_for`: the right to pass
        the barrier is taken when this is called, not when it is awaited.

        Args:
            method: A row of the method table, such as `v1.methods.PROMPT`.
            params: The params of that method.
            on_result: Called with the result as soon as it arrives, before any later message is
                handled. If it raises, this call raises the same exception.
            on_error: Called in the same way with the error if there is no result.

        Raises:
            RequestError: The peer responded with an error.
            RemoteProtocolError: The response is malformed.
            ConnectionClosed: The connection ended before the response arrived.
            Overloaded: A limit was reached; see `Limits`.
        """
        return self._outbound.request(
            method,
            params,
            lane=self._dispatcher.current_lane(),
            on_result=on_result,
            on_error=on_error,
        )

    def begin_request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
        on_error: Callable[[AcpError], None] | None = None,
    ) -> asyncio.Future[Raw]:
        """Send a request before returning, and wait for its response in the background.

        For a caller that does not wait for the response here, and whose later messages must not
        overtake the request. The arguments and errors are those of `request`; errors that prevent
        sending are raised here.

        Returns:
            A future that is done after the earlier updates of the request's session have been
            handled, with the undecoded result or with the error. Cancelling it cancels the request.
        """
        return self._outbound.begin_request(method, params, on_result=on_result, on_error=on_error)

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification, and wait until there is room to send more.

        Raises:
            ConnectionClosed: The connection is closed; the message may not have been sent.
            Overloaded: A limit was reached, perhaps while waiting; see `Limits`.
        """
        return self._outbound.notify(method.name, params)

    def notify_now(self, method: Method[P, None], params: P) -> None:
        """Send a notification before returning, without waiting for room to send more.

        Raises:
            ConnectionClosed: The connection is closed.
            Overloaded: Too much waits to be sent.
        """
        self._outbound.notify_now(method.name, params)

    def enqueue(
        self, session: str, handler: Callable[[T], Awaitable[None] | None], argument: T
    ) -> None:
        """Queue a call in a session's lane, as if the peer had just sent a message there."""
        self._dispatcher.enqueue(session, 0, handler, argument)

    def create_task(self, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """Run a coroutine as a task of the connection, which `aclose` cancels and awaits."""
        return self._tasks.create_task(work)

    def consumer_barrier(self, session: str) -> ConsumerBarrier:
        """Return a barrier for a loop that handles the updates of a session from now on."""
        return self._dispatcher.consumer_barrier(session)

    @property
    def diagnosis(self) -> str:
        """The problem with the peer's messages that may explain a missing response.

        Empty if none is known, else a clause such as "it sends JSON spread over several
        lines; each message must be one line".
        """
        return self._engine.diagnosis

    async def wait_closed(self) -> ConnectionClosed:
        """Wait until the connection has ended, and return the reason.

        If `aclose` ended it, the reason says so, and its `__cause__` is what the transport
        reported, such as a `ProcessExited` with the exit code.
        """
        return await asyncio.shield(self._closed)

    async def aclose(self) -> None:
        """Close the connection and fail the pending requests.

        A handler may call this too; it is then the only one that is not cancelled.
        """
        name = with_article(self.name)
        reason = ConnectionClosed(f"the connection to {name} was closed by this program")
        if self._closing is None:
            self._closing = reason
        self._dispatcher.exclude_current_task()
        try:
            await self._transport.aclose()
            if not self._closed.done():  # a transport that was never started reports nothing
                self._lose(reason)
            await self._dispatcher.aclose(_CLOSE_GRACE)
            await self._tasks.aclose(_CLOSE_GRACE)
        finally:
            self._dispatcher.cancel()  # also if `aclose` itself was cancelled
            self._outbound.close(reason)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Handle the frames of one read; called by the transport."""
        self._inbound.frames_received(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Handle the end of the connection; called by the transport."""
        if self._closing is not None:  # how a process ended that we closed is not why
            self._closing.__cause__ = reason
            self._lose(self._closing)
            return
        self._lose(reason.with_prefix(self._prefix) if self._prefix else reason)

    def _lose(self, reason: ConnectionClosed) -> None:
        if self.diagnosis and self._engine.outgoing_count:
            reason = reason.with_diagnosis(self.diagnosis)
        self._closed.set_result(reason)
        self._outbound.lose(reason)
        self._dispatcher.cancel_serving()

    def unknown_method(self, method: str) -> RequestError:
        """Return the error for a request that has no handler."""
        if self.table is None and method not in ("proxy/initialize", "_proxy/initialize"):
            return InvalidRequest(f"Call initialize before {method}")
        if method == "initialize":
            return InvalidRequest("The connection is already initialized")
        return MethodNotFound(data={"method": method})
