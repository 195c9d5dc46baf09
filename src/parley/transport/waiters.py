"""Those who wait for the same thing: room to send, mostly."""

from __future__ import annotations

import asyncio

__all__ = ["Waiters"]


class Waiters:
    """Futures that are done together; nobody has to wait for his."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        return bool(self._futures)

    def wait(self) -> asyncio.Future[None]:
        """Return what is done with the next `release`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures.append(future)
        return future

    def release(self) -> None:
        """Let everybody go."""
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)
