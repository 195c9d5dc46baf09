"""One request under way, in either direction."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from parley.errors import AcpError
from parley.rpc.engine import Call
from parley.rpc.message import Id
from parley.schema.base import Method

from .lane import Lane

if TYPE_CHECKING:
    from .peer import Peer
    from .routes import Route

__all__ = ["RequestContext", "Ticket"]


class RequestContext:
    """What a handler knows about the request that it handles, beside the params."""

    def __init__(self, peer: Peer, call: Call, frame_bytes: int, route: Route, params: Any) -> None:
        self.peer = peer
        """The connection on which it came."""
        self.params = params
        """The typed params."""
        self.session_id = route.session_of(params, call.params)
        """The session that it belongs to."""
        self.is_cancelled = False
        """Whether its session, or it itself, was cancelled; perhaps before it began."""
        self.is_withdrawn = False
        """Whether it itself was cancelled: the peer does not want the result any more."""
        self.has_begun = False
        """Whether the handler was called."""
        self.call = call
        self.frame_bytes = frame_bytes
        self.route = route
        self.task: asyncio.Task[None] | None = None
        self.hooks: list[Callable[[], Awaitable[None] | None]] = []

    @property
    def id(self) -> Id:
        """The peer's id of this request."""
        return self.call.id

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.call.method

    def after_answer(self, hook: Callable[[], Awaitable[None] | None]) -> None:
        """Have something done when the result has been written, before anything later is sent.

        Nothing is done when the answer becomes an error, also when the request was cancelled.
        """
        self.hooks.append(hook)


class Ticket:
    """One of our requests that has no answer yet."""

    __slots__ = ("future", "lane", "method", "on_error", "on_result", "session")

    def __init__(
        self,
        method: Method[Any, Any],
        session: str | None,
        lane: Lane | None,
        on_result: Callable[[Any], None] | None,
        on_error: Callable[[AcpError], None] | None,
    ) -> None:
        self.future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self.method = method
        self.session = session
        self.lane = lane
        """The lane of the handler that asked; None for other callers."""
        self.on_result = on_result
        self.on_error = on_error

    @property
    def passes_barrier(self) -> bool:
        """Whether a lane waits for the answer, so that it must not wait for a lane."""
        return self.lane is not None and self.lane.task is not None

    def settle(self, outcome: Raw | Exception) -> None:
        """Give the caller its answer; one that has gone is not called back."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
            self.future.exception()  # the caller may be about to go: that is no matter for the log
        else:
            self.future.set_result(outcome)
