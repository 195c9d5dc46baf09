"""How a server ends: the first signal asks for an orderly end, the second ends it at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

__all__ = ["Stopping", "run"]


class Stopping:
    """Handles SIGTERM and SIGINT while its block runs."""

    def __init__(self, on_signal: Callable[[bool], None]) -> None:
        """Handle signals.

        Args:
            on_signal: Is told of each; whether it is the second one, which ends everything.
        """
        self._on_signal = on_signal
        self._asked = asyncio.Event()
        self.is_cut = False
        """Whether there was a second signal."""

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not every loop has signals
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._signalled)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def wait(self) -> None:
        """Wait for the first signal."""
        await self._asked.wait()

    def _signalled(self) -> None:
        self.is_cut = self._asked.is_set()
        self._asked.set()
        with suppress(OSError):  # whoever has read what is told is gone; it ends all the same
            self._on_signal(self.is_cut)
        if self.is_cut:  # whatever waits politely stops being polite
            for task in asyncio.all_tasks():
                task.cancel()


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a server, on uvloop's event loop where that is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
