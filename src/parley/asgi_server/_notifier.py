"""A way to wake the tasks that wait for the same change, usually for room to send.

Unlike `asyncio.Event` it has no state to clear: a waiter checks its own condition, waits, and
checks again. Unlike `asyncio.Condition` it needs no lock, and returns a future, which a caller that
is not a coroutine can pass on.
"""

from __future__ import annotations

import asyncio


class Notifier:
    """A set of futures that are resolved together; true while there are any."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: dict[asyncio.Future[None], None] = {}

    def __bool__(self) -> bool:
        return bool(self._futures)

    def wait(self) -> asyncio.Future[None]:
        """Return a future that the next `notify_all` resolves."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures[future] = None
        future.add_done_callback(self._forget)
        return future

    def notify_all(self) -> None:
        """Resolve all futures."""
        futures, self._futures = self._futures, {}
        for future in futures:
            if not future.done():
                future.set_result(None)

    def _forget(self, future: asyncio.Future[None]) -> None:
        """Drop a cancelled future, so that waits that time out do not pile up."""
        self._futures.pop(future, None)
