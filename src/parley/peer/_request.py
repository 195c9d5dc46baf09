"""A pending request, in either direction.

`RequestContext` is a request from the peer, and `PendingRequest` is one of ours. Both only hold
state; `_inbound.py` serves the former, and `_outbound.py` sends the latter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from parley.errors import AcpError
from parley.rpc._engine import IncomingRequest
from parley.rpc._message import Id
from parley.schema.base import Method
from parley.transport._frame_head import ParamsHead

from ._dispatcher import Lane
from ._response_budget import ResponseBudget

if TYPE_CHECKING:
    from ._peer import Peer
    from ._routes import Route


class RequestContext:
    """The incoming request that a handler is serving; the second argument of a request handler.

    It has the connection, the session, the id and the cancellation state. `after_response`
    registers a hook, and `reserve` waits for room before a large response is built.
    """

    def __init__(
        self,
        peer: Peer,
        call: IncomingRequest,
        frame_bytes: int,
        route: Route,
        params: Any,
        budget: ResponseBudget,
    ) -> None:
        self.peer = peer
        """The connection that the request arrived on."""
        self.params = params
        """The typed params."""
        self.session_id = route.session_of(params, call.params)
        """The session that the request belongs to; None if there is none."""
        self.is_cancelled = False
        """Whether the request or its session was cancelled, perhaps before the handler started."""
        self.is_withdrawn = False
        """Whether the request itself was cancelled: the peer no longer wants the result."""
        self.has_started = False
        """Whether the handler was called or is waiting for the response budget."""
        self.is_done = False
        """Whether the response has been sent or never will be."""
        self.call = call
        self.frame_bytes = frame_bytes
        self.route = route
        self.task: asyncio.Task[None] | None = None
        self.hooks: list[Callable[[], Awaitable[None] | None]] = []
        self.result_head: ParamsHead | None = None
        """The head of the result, for the transport; None if only the encoded result shows it."""
        self.reserved_bytes = 0
        self.held_bytes = 0
        self._budget = budget

    @property
    def id(self) -> Id:
        """The id that the peer gave the request."""
        return self.call.id

    @property
    def method(self) -> str:
        """The method name."""
        return self.call.method

    def after_response(self, hook: Callable[[], Awaitable[None] | None]) -> None:
        """Register a hook to run when the result has been written, before anything later is sent.

        Hooks do not run if the response is an error, for example because of a cancellation.
        """
        self.hooks.append(hook)

    async def reserve(self, size_bytes: int) -> None:
        """Wait until the response budget has room for a response of this size.

        Call it right before you build a large value, and await nothing else until you return that
        value: the bytes count against `Limits.response_bytes` until the response is sent.

        Raises:
            Overloaded: The request is part of a batch, whose responses are sent together, and this
                one does not fit.
        """
        if self.is_done:
            return
        if self.call.batch is not None:
            self.reserved_bytes += self._budget.reserve_at_once(size_bytes)
            return
        reserved_bytes = await self._budget.reserve(size_bytes)
        if self.is_done:  # called in a task that has outlived its handler
            self._budget.release(reserved_bytes)
        else:
            self.reserved_bytes += reserved_bytes


current_request: ContextVar[RequestContext | None] = ContextVar("current_request", default=None)
"""The request whose handler is running; tasks that the handler starts inherit it."""


async def reserve_response(size_bytes: int) -> None:
    """Call `RequestContext.reserve` for the current request.

    For code that a handler calls without passing its context. Outside a handler there is no
    response to make room for, and this returns at once.
    """
    request = current_request.get()
    if request is not None:
        await request.reserve(size_bytes)


class PendingRequest:
    """An outgoing request that has no response yet."""

    __slots__ = ("future", "id", "lane", "method", "on_error", "on_result", "session")

    def __init__(
        self,
        method: Method[Any, Any],
        session: str | None,
        lane: Lane | None,
        on_result: Callable[[Any], None] | None,
        on_error: Callable[[AcpError], None] | None,
    ) -> None:
        self.future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self.id = 0
        """The id on the wire, set when the request is sent."""
        self.method = method
        self.session = session
        self.lane = lane
        """The lane of the handler that sent the request; None for other callers."""
        self.on_result = on_result
        self.on_error = on_error

    @property
    def passes_barrier(self) -> bool:
        """Whether a lane is waiting for the response, which therefore must not wait for a lane."""
        return self.lane is not None and self.lane.task is not None

    def settle(self, outcome: Raw | Exception) -> None:
        """Resolve the request with its outcome; do nothing if the caller has stopped waiting."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
            self.future.exception()  # mark as retrieved: the caller may stop waiting
        else:
            self.future.set_result(outcome)
