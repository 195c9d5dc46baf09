"""Tasks that belong to an object: it keeps them, reports their failures and awaits them.

The event loop has only weak references to tasks, and nobody sees the exception of a task that
nobody awaits. So every task has an owner. Where a block of code needs the results, that is an
`asyncio.TaskGroup`. A `TaskOwner` is for objects that are closed by a method, such as a connection,
and for blocks that cancel their tasks at the end; unlike a group, it does not cancel the others
when one fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextvars import Context
from types import TracebackType
from typing import Any, Self, TypeVar

logger = logging.getLogger(__name__)

R = TypeVar("R")


class TaskOwner:
    """The background tasks of one object, or of one block: `async with TaskOwner(…) as tasks:`.

    At the end of the block, its tasks are cancelled and awaited.
    """

    def __init__(self, name: str, *, expected: tuple[type[BaseException], ...] = ()) -> None:
        """Create an owner without tasks.

        Args:
            name: The owner's name in logs.
            expected: Exceptions that are not worth logging, because they are reported elsewhere.
        """
        self.name = name
        self._expected = expected
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def create_task(
        self, work: Coroutine[Any, Any, R], *, context: Context | None = None
    ) -> asyncio.Task[R]:
        """Run a coroutine as a task of this owner, in a copy of the current context by default."""
        task = asyncio.get_running_loop().create_task(work, context=context)
        self.adopt(task)
        return task

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Take over a task that its previous owner has given up on."""
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, self._expected):
            logger.error("%s: a background task failed", self.name, exc_info=error)

    async def wait(self, grace_after: float) -> None:
        """Wait until no task is running, but not longer than `grace_after` seconds."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace_after)

    async def aclose(self, grace_after: float | None = None) -> None:
        """Cancel the tasks and wait for them, but not longer than `grace_after` seconds.

        The current task is left out, because a task of the owner may close it.
        """
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            _, running = await asyncio.wait(tasks, timeout=grace_after)
            if running:
                logger.error(
                    "%s: %d background tasks are still running after they were cancelled",
                    self.name,
                    len(running),
                )
