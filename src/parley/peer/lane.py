"""What one session has to do, in its order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

__all__ = ["ITEM_BYTES", "LANE_BYTES", "Held", "Key", "Lane", "Run"]

Run: TypeAlias = Callable[[Any], Awaitable[None] | None]
Key: TypeAlias = str | tuple[str | None] | None
"""A session, none, or, as a tuple, what passes the barrier of either."""

ITEM_BYTES = 512
"""What an item costs beside its frame: the typed value, the queue's entry."""
LANE_BYTES = 3072
"""What a lane costs beside its items: the task, the queue."""


class Lane:
    """What one session has to do."""

    __slots__ = ("asks", "bytes", "key", "queue", "rest", "task", "waits")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.queue: deque[tuple[Run, Sequence[Any], int]] = deque()
        """What to call, with which arguments one after the other, and how many bytes they were."""
        self.rest: Iterator[Any] = iter(())
        """What is left of the arguments whose turn it is."""
        self.bytes = 0
        self.asks = 0
        """How many calls to the peer are under way that its handlers have made."""
        self.waits = 0
        """How often the handler whose turn it is waits for the peer."""
        self.task: asyncio.Task[Any] | None = None
        """What works it off; None for what stands for the handlers of requests."""


class Held:
    """A request of the peer's that waits for its turn."""

    __slots__ = ("_argument", "_run", "has_begun", "timer")

    def __init__(self, run: Callable[[Any], None], argument: Any) -> None:
        self._run = run
        self._argument = argument
        self.has_begun = False
        self.timer: asyncio.TimerHandle | None = None
        """When to look whether it has waited long enough."""

    def begin(self) -> None:
        """Begin it, unless it has begun."""
        if not self.has_begun:
            self.has_begun = True
            if self.timer is not None:
                self.timer.cancel()
            self._run(self._argument)
