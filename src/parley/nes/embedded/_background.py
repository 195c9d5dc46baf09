"""Background work: done between other things, a few milliseconds at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from time import perf_counter

logger = logging.getLogger(__name__)

SLICE = 0.004
"""The seconds for which the event loop is kept at a time."""
_PAUSE = 0.002


class Background:
    """Runs iterators, one after the other; each step of one should take a millisecond or so."""

    def __init__(self) -> None:
        self._tasks: deque[Iterator[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._holds = 0

    @property
    def is_idle(self) -> bool:
        """Return whether everything is done."""
        return not self._tasks

    def add(self, task: Iterator[None], *, is_urgent: bool = False) -> None:
        """Add a task; an urgent one goes before all others."""
        if is_urgent:
            self._tasks.appendleft(task)
        else:
            self._tasks.append(task)
        self.wake()

    def wake(self) -> None:
        """Continue as soon as the event loop has time; without one, wait for the next call."""
        if self._timer is not None or not self._tasks:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(_PAUSE, self._turn)

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Pause the tasks within the block: somebody waits for something else."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    async def finish(self) -> None:
        """Finish all tasks now, yielding to other coroutines in between."""
        while self._tasks:
            self._work()
            await asyncio.sleep(0)  # fairness

    def close(self) -> None:
        """Drop all tasks."""
        self._tasks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _turn(self) -> None:
        self._timer = None
        if not self._holds:
            self._work()
        self.wake()

    def _work(self) -> None:
        until = perf_counter() + SLICE
        while self._tasks and perf_counter() < until:
            task = self._tasks[0]
            try:
                next(task)
            except StopIteration:
                self._forget(task)
            except Exception:  # nobody waits for it: the others continue
                logger.exception("work in the background failed")
                self._forget(task)

    def _forget(self, task: Iterator[None]) -> None:
        if task in self._tasks:
            self._tasks.remove(task)
