"""The events of a gateway, for metrics, logs and other observers.

Events contain names and ids, but no content: no prompt, no params, no result, no token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Event", "EventBus", "Name", "OnEvent", "ignore", "short_id"]

Name: TypeAlias = Literal[
    "listening",
    "renewed",
    "draining",
    "stopped",
    "connection_opened",
    "connection_closed",
    "session_opened",
    "session_closed",
    "agent_started",
    "agent_failed",
    "agent_exited",
    "request",
    "refused",
]
_SHOWN = 8


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event."""

    event: Name
    agent: str = ""
    """The name of the hosted agent."""
    principal: str = ""
    connection: str = ""
    """The end of the connection's id."""
    session: str = ""
    """The end of the session's id."""
    remote: str = ""
    """The address of the client."""
    method: str = ""
    status: int = 0
    """Of HTTP."""
    code: int | None = None
    """Of JSON-RPC, or the exit code of a process."""
    pid: int = 0
    seconds: float | None = None
    """The duration."""
    reason: str = ""
    """The reason, as a word or a sentence."""
    asked: str = ""
    """The rejected Host or Origin, shortened."""
    url: str = ""
    trace: str = ""
    """The W3C trace context of the request."""


OnEvent: TypeAlias = Callable[[Event], None]


class EventBus:
    """Passes events on to observers, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._observers: list[OnEvent] = []

    def subscribe(self, observer: OnEvent) -> None:
        """Add an observer."""
        self._observers.append(observer)

    def emit(self, event: Event) -> None:
        """Pass an event on to all observers."""
        for each in self._observers:
            each(event)


def ignore(event: Event) -> None:
    """Ignore an event."""
    del event


def short_id(id: str) -> str:
    """Return the end of an id: enough to recognize it, too little to use it."""
    return id[-_SHOWN:]
