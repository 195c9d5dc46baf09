"""`AgentState`: the settings, handlers and open sessions that the connections of an agent share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from parley.errors import Overloaded
from parley.peer import Limits, Observer, Tracer
from parley.schema.base import JsonObject
from parley.schema.version import SUPPORTED
from parley.session._capabilities import AgentFeatures
from parley.session._response_meta import ResponseMeta
from parley.session._validation import check_handler, check_text, check_type

from ._extension import AgentExtension
from ._handlers import Handlers
from ._store import SessionStore

if TYPE_CHECKING:
    from ._session_manager import SessionManager


_POLL_INTERVAL = 0.05


class AgentSettings(Struct, frozen=True, kw_only=True):
    """The settings of an agent, which are the arguments of `Agent`; documented there."""

    name: str
    title: str | None
    version: str
    features: AgentFeatures
    store: SessionStore
    meta: JsonObject | None
    versions: tuple[int, ...]
    limits: Limits
    max_sessions: int
    cancel_timeout: float
    observer: Observer | None
    tracer: Tracer | None
    response_meta: ResponseMeta | None


def check_settings(settings: AgentSettings) -> None:
    """Check the arguments of an `Agent` when it is created, rather than when a client connects.

    Raises:
        TypeError: A setting has the wrong type.
        ValueError: The name is empty, or a number or version is out of range.
    """
    check_text(settings.name, "the name of an agent")
    if not settings.name:
        raise ValueError("an agent needs a name")
    if settings.title is not None:
        check_text(settings.title, "title=")
    check_text(settings.version, "version=")
    check_type(settings.features, "features=", AgentFeatures, "an AgentFeatures")
    check_type(settings.limits, "limits=", Limits, "a parley.peer.Limits")
    _check_store(settings.store)
    if settings.meta is not None:
        check_type(settings.meta, "meta=", dict, "a dict")
    if not settings.versions or not set(settings.versions) <= set(SUPPORTED):
        known = ", ".join(map(str, SUPPORTED))
        raise ValueError(f"versions= takes some of {known}, not {settings.versions}")
    check_type(settings.max_sessions, "max_sessions=", int, "a whole number")
    if settings.max_sessions < 1:
        raise ValueError("max_sessions= must be at least 1")
    check_type(settings.cancel_timeout, "cancel_timeout=", (int, float), "a number of seconds")
    if not settings.cancel_timeout >= 0:
        raise ValueError("cancel_timeout= must not be negative")
    if settings.observer is not None:
        check_handler(settings.observer, "observer=", "direction", "frame")
    if settings.response_meta is not None:
        check_handler(settings.response_meta, "response_meta=", "method", "params", "result")


def _check_store(store: object) -> None:
    methods = ("list", "get", "append", "put", "delete")
    missing = [name for name in methods if not callable(getattr(store, name, None))]
    if missing or isinstance(store, type):
        raise TypeError(
            f"store= takes an object with the methods of SessionStore ({', '.join(methods)}), "
            f"such as JournalStore(), not {store!r:.100}"
        )


class AgentState:
    """The settings, handlers and sessions of an agent, and whether it is shutting down.

    `Agent` is what the program sees. This is the part that the connections of the agent use.
    """

    def __init__(self, settings: AgentSettings) -> None:
        self.settings = settings
        """The arguments that the agent was created with."""
        self.handlers = Handlers()
        """The handlers that the program has registered."""
        self.extensions: list[AgentExtension] = []
        """The extensions registered with `add_extension`."""
        self.session_owners: dict[str, SessionManager] = {}
        """The `SessionManager` (one per connection) that has each session open, by session id."""
        self._drains = 0

    @asynccontextmanager
    async def drained(self, grace_after: float) -> AsyncGenerator[None]:
        """Accept no work until the block ends; it begins when no turn is running any more.

        Running turns have up to `grace_after` seconds to end. Connections stay open, but requests
        to initialize, to open a session or to start a turn fail with `Overloaded`. Afterwards the
        agent can be served again.
        """
        self._drains += 1
        try:
            for _ in range(int(grace_after / _POLL_INTERVAL)):
                if not any(each.is_busy for each in set(self.session_owners.values())):
                    break
                await asyncio.sleep(_POLL_INTERVAL)
            yield
        finally:
            self._drains -= 1

    def check_accepting(self) -> None:
        """Raise `Overloaded` if the agent is shutting down.

        Raises:
            Overloaded: A block of `drained` is active.
        """
        if self._drains:
            raise Overloaded(f"{self.settings.name} is shutting down; try again later")
