"""`AgentState`: what the connections of an agent share besides its public settings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypedDict

from parley.errors import Overloaded
from parley.peer import Observer, Tracer
from parley.session._response_meta import ResponseMeta

from ._extension import AgentExtension
from ._handlers import Handlers

if TYPE_CHECKING:
    from ._session_manager import SessionManager


_POLL_INTERVAL = 0.05


class AgentOptions(TypedDict, total=False):
    """Optional keyword arguments of `Agent`: tracing, observing and response metadata."""

    tracer: Tracer | None
    """Propagates distributed tracing contexts on each connection."""
    observer: Observer | None
    """Called with each frame of each connection, in both directions."""
    response_meta: ResponseMeta | None
    """Returns the `_meta` of a response: `def add(method, params, result)`."""


class AgentState:
    """The handlers and extensions of an agent, its open sessions, and whether it is shutting down.

    `Agent` is what the program sees. This is the part that the connections of the agent use.
    """

    def __init__(self, name: str, options: AgentOptions) -> None:
        self._name = name
        self.options = options
        """The tracer, the observer and the response metadata hook."""
        self.handlers = Handlers()
        """The handlers that the program has registered."""
        self.extensions: list[AgentExtension] = []
        """The extensions registered with `add_extension`."""
        self.session_owners: dict[str, SessionManager] = {}
        """The `SessionManager` (one per connection) that has each session open, by session id."""
        self._is_draining = False

    async def drain(self, grace_after: float) -> None:
        """Stop accepting work, and wait up to `grace_after` seconds for running turns to end.

        Connections stay open, but requests to initialize, to open a session or to start a turn
        fail with `Overloaded`.
        """
        self._is_draining = True
        for _ in range(int(grace_after / _POLL_INTERVAL)):
            if not any(each.is_busy for each in set(self.session_owners.values())):
                break
            await asyncio.sleep(_POLL_INTERVAL)

    def check_accepting(self) -> None:
        """Raise `Overloaded` if the agent is shutting down.

        Raises:
            Overloaded: `drain` was called.
        """
        if self._is_draining:
            raise Overloaded(f"{self._name} is shutting down; try again later")
