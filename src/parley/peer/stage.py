"""Updates that a loop of the program's handles, outside the lane of their session.

An update handler that only hands updates on, to somebody's `async for`, has not handled them. With
a `Stage` it says so: until the loop has come back for more, the answers and the requests of that
session wait as they would behind the handler itself, and while the loop's body runs, what it asks
the peer passes the barrier as a handler's call does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .lane import Lane

if TYPE_CHECKING:
    from .dispatch import Dispatcher

__all__ = ["Stage"]


class Stage(Lane):
    """The updates of one session that are handed over and not yet handled."""

    __slots__ = ("_dispatcher", "_waiter", "taken")

    def __init__(self, dispatcher: Dispatcher, session: str) -> None:
        super().__init__(session)
        self._dispatcher = dispatcher
        self._waiter: asyncio.Future[None] | None = None
        self.taken = 0
        """How many updates are handed over and not yet handled."""

    def take(self) -> None:
        """Hand an update over; called in its handler."""
        self.taken += 1

    def enter(self) -> None:
        """Begin to handle one, in the task that calls."""
        task = asyncio.current_task()
        if task is not self.task:
            self._leave_task()
            assert task is not None
            self.task = task
            self._dispatcher.looping[task] = self

    def leave(self) -> None:
        """Be done with one."""
        self.taken -= 1
        if not self.taken:
            self._leave_task()
            self.settle()

    def close(self) -> None:
        """Handle no more; whatever is left counts as handled."""
        self.taken = 0
        self._leave_task()
        if self._dispatcher.stages.get(self.key) is self:
            del self._dispatcher.stages[self.key]
        self.settle()

    def is_clear(self, is_request: bool) -> bool:
        """Tell whether nothing is left to handle; a request passes a body that waits for it."""
        return not self.taken or (is_request and self.taken == 1 and self.waits > 0)

    async def cleared(self, is_request: bool) -> None:
        """Wait until nothing is left to handle; the session's lane does, so nobody else."""
        while not self.is_clear(is_request):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def settle(self) -> None:
        """Have those who wait look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._dispatcher.cleared(self.key)

    def _leave_task(self) -> None:
        if self.task is not None:
            self._dispatcher.looping.pop(self.task, None)
            self.task = None
