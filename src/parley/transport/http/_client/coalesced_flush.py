"""Coalesced writes: what is sent in one iteration of the event loop is written together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class CoalescedFlush:
    """A flush that runs once at the end of an event loop iteration, however often it is due."""

    __slots__ = ("_flush", "_is_scheduled", "_loop")

    def __init__(self, flush: Callable[[], None]) -> None:
        """Create one that is not scheduled; `flush` writes what is queued."""
        self._flush = flush
        self._is_scheduled = False
        self._loop = asyncio.get_running_loop()

    def schedule(self) -> None:
        """Flush at the end of this iteration."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        self._flush()
