"""The state of one run of an agent, and what a later run needs to resume its session."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from msgspec import Struct, field

from parley.client import Connection, PromptTurn
from parley.errors import ConnectionClosed
from parley.schema import v2

__all__ = ["AgentRun", "ResumableSession"]


class ResumableSession(NamedTuple):
    """A session that can be resumed."""

    session_id: str
    cwd: str | None


class AgentRun(Struct, eq=False):
    """Everything that belongs to one run of the agent; the next run begins with a new one."""

    task: asyncio.Task[None] | None = None
    """Serves the conversation; the agent ends with it."""
    watcher: asyncio.Task[None] | None = None
    """Waits for the end of the connection."""
    connection: Connection | None = None
    pid: int | None = None
    """The process of the agent, once it is started."""
    lost: ConnectionClosed | None = None
    """Why the connection has closed."""
    stderr: bytes = b""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there may be something to do."""
    history: list[v2.SessionUpdate] = field(default_factory=list[v2.SessionUpdate])
    """The history of the session that is being resumed."""
    turn: PromptTurn | None = None
    is_preparing: bool = False
    """Whether the files are read that a prompt mentions."""
    is_logging_in: bool = False
    is_cancelling: bool = False
    open_questions: int = 0
    announced: set[str] = field(default_factory=set[str])
    """The ids of the tool calls that updates have reported."""
