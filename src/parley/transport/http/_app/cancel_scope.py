"""A block of code that another task can end, even while the block is waiting."""

from __future__ import annotations

import asyncio
from types import TracebackType


class CancelScope:
    """A block that ends without an error: `async with scope: …`, and elsewhere `scope.cancel()`.

    An `OSError` in the block means that the peer has disconnected, and ends it in the same way.
    """

    __slots__ = ("_is_cancelled", "_timeout")

    def __init__(self) -> None:
        self._is_cancelled = False
        self._timeout: asyncio.Timeout | None = None

    def cancel(self) -> None:
        """End the block where it waits, or as soon as it starts."""
        self._is_cancelled = True
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> None:
        self._timeout = asyncio.timeout(0 if self._is_cancelled else None)
        await self._timeout.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        timeout, self._timeout = self._timeout, None
        assert timeout is not None
        try:
            await timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            return True
        return isinstance(error, OSError)
