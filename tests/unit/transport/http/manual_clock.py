"""A clock that a test moves, and a way to let the event loop catch up."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any


class ManualClock:
    """A clock that only moves when a test calls `advance`."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._timers: list[tuple[float, int, ManualTimer]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        return self._now

    def call_later(
        self, delay: float, callback: Callable[..., object], /, *args: Any
    ) -> ManualTimer:
        timer = ManualTimer(callback, args)
        heapq.heappush(self._timers, (self._now + delay, next(self._numbers), timer))
        return timer

    async def advance(self, seconds: float) -> None:
        """Move the clock, and run the timers that are due."""
        end = self._now + seconds
        await settle()
        while self._timers and self._timers[0][0] <= end:
            self._now, _, timer = heapq.heappop(self._timers)
            timer.run()
            await settle()
        self._now = end


class ManualTimer:
    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._callback = callback
        self._args = args
        self._is_cancelled = False

    def cancel(self) -> None:
        self._is_cancelled = True

    def run(self) -> None:
        if not self._is_cancelled:
            self._callback(*self._args)


async def settle() -> None:
    """Run the event loop until nothing is left that needs no I/O and no timer."""
    for _ in range(20):
        await asyncio.sleep(0)
