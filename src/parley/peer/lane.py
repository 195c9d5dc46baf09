"""What one session has to do, in its order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

__all__ = ["ITEM_BYTES", "LANE_BYTES", "Key", "Lane", "Run"]

Run: TypeAlias = Callable[[Any], Awaitable[None] | None]
Key: TypeAlias = str | tuple[str | None] | None
"""A session, none, or, as a tuple, what passes the barrier of either."""

ITEM_BYTES = 512
"""What an item costs beside its frame: the typed value, the queue's entry."""
LANE_BYTES = 2560
"""What a lane costs beside its items: the task, the queue."""


class Lane:
    """What one session has to do."""

    __slots__ = ("bytes", "key", "queue", "rest", "task", "waits")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.queue: deque[tuple[Run, Sequence[Any], int]] = deque()
        """What to call, with which arguments one after the other, and how many bytes they were."""
        self.rest: Iterator[Any] = iter(())
        """What is left of the arguments whose turn it is."""
        self.bytes = 0
        self.waits = 0
        """How often the handler whose turn it is waits for the peer."""
        self.task: asyncio.Task[Any] | None = None
        """What works it off; None for what stands for the handlers of requests."""
