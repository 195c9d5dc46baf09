"""A block that somebody else may end, also while it waits for something that does not come."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Leaving"]


class Leaving:
    """Ends a block quietly: `async with leaving: …`, and from elsewhere `leave()`.

    An `OSError` in the block is the peer that has gone, and ends it too.
    """

    __slots__ = ("_is_left", "_timeout")

    def __init__(self) -> None:
        self._is_left = False
        self._timeout: asyncio.Timeout | None = None

    def leave(self) -> None:
        """End the block where it waits, or as soon as it begins."""
        self._is_left = True
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> None:
        self._timeout = asyncio.timeout(0 if self._is_left else None)
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
