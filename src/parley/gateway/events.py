"""What happens in a gateway, as values: for the metrics, the log, and whoever wants to know.

An event names who and what, never what was said: no prompt, no params, no result, no token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["Event", "Name", "OnEvent", "ignore", "short_id"]

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
    """One thing that has happened."""

    event: Name
    agent: str = ""
    """The name of the hosted agent."""
    principal: str = ""
    connection: str = ""
    """How the id of the connection ends."""
    session: str = ""
    """How the id of the session ends."""
    remote: str = ""
    """The address of the client."""
    method: str = ""
    status: int = 0
    """Of HTTP."""
    code: int | None = None
    """Of JSON-RPC, or the exit code of a process."""
    pid: int = 0
    seconds: float | None = None
    """How long it took, or lasted."""
    reason: str = ""
    """Why, in a word or a sentence."""
    asked: str = ""
    """The Host or the Origin that is refused, as far as it is short."""
    url: str = ""
    trace: str = ""
    """The W3C trace context that a request came with."""


OnEvent: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing."""
    del event


def short_id(id: str) -> str:
    """Return how an id ends: enough to find it again, too little to use it."""
    return id[-_SHOWN:]
