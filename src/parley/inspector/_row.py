"""A row of the timeline: one frame, one line of stderr, or one event of a recording."""

from __future__ import annotations

from enum import IntFlag
from typing import Literal, TypeAlias

from msgspec import Struct

from parley.recording import Source

RowSource: TypeAlias = Source | Literal["event"]
RowKind: TypeAlias = Literal[
    "request", "response", "error", "notification", "batch", "invalid", "text", "event"
]


class Flag(IntFlag):
    """What stands out about a row."""

    ERROR = 1
    """An error response, a tool call that failed, or an agent that did not exit properly."""
    SLOW = 2
    """A request that took long, and its response; see `SLOW_SECONDS`."""
    CANCELLED = 4
    """A request that was cancelled, and its response."""
    UNANSWERED = 8
    """A request without a response so far."""
    INVALID = 16
    """It is not a message, or it violates the schema."""


SLOW_SECONDS = 1.0
"""The latency from which a request counts as slow, unless it waits for a model, a person or a
command."""


class Row(Struct, array_like=True, gc=False):
    """A row; as JSON an array, whose items `_app.py` describes. It changes while frames arrive."""

    number: int
    at: float
    source: RowSource
    kind: RowKind
    method: str = ""
    id: str = ""
    session: str = ""
    update: str = ""
    size: int = 0
    latency: float | None = None
    summary: str = ""
    flags: int = 0
    match: int = 0
    message: int = 0
    chunks: int = 0
    batch: int = 0
