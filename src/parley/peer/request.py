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

if TYPE_CHECKING:
    from .peer import Peer
    from .routes import Route

__all__ = ["RequestContext", "Ticket"]


class RequestContext:
    """What a handler knows about the request that it handles, beside the params."""

    def __init__(self, peer: Peer, call: Call, route: Route, params: Any) -> None:
        self.peer = peer
        """The connection on which it came."""
        self.params = params
        """The typed params."""
        self.session_id: str | None = (
            getattr(params, "session_id", None) if route.has_session else None
        )
        """The session that it belongs to."""
        self.is_cancelled = False
        """Whether its session, or it itself, was cancelled; perhaps before it began."""
        self.call = call
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
        """Have something done when the answer has been written, before anything later is sent."""
        self.hooks.append(hook)


class Ticket:
    """One of our requests that has no answer yet."""

    __slots__ = ("future", "method", "on_result", "passes_barrier", "session")

    def __init__(
        self,
        method: Method[Any, Any],
        session: str | None,
        *,
        passes_barrier: bool,
        on_result: Callable[[Any], None] | None,
    ) -> None:
        self.future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self.method = method
        self.session = session
        self.passes_barrier = passes_barrier
        self.on_result = on_result

    def settle(self, outcome: Raw | AcpError) -> None:
        """Give the caller its answer; one that has gone is not called back."""
        if self.future.done():
            return
        if isinstance(outcome, AcpError):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)
