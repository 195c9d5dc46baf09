"""Shutdown by signals: the first requests a graceful shutdown, the second ends at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self


class GracefulShutdown:
    """A context manager that handles SIGTERM and SIGINT while its block runs."""

    def __init__(self, on_signal: Callable[[bool], None]) -> None:
        """Prepare to handle signals.

        Args:
            on_signal: Called for each signal; its argument is whether this is the second one, which
                ends everything.
        """
        self._on_signal = on_signal
        self._requested = asyncio.Event()
        self.is_forced = False
        """Whether a second signal arrived."""

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not every event loop supports signals
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, self._handle_signal)
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
        await self._requested.wait()

    def _handle_signal(self) -> None:
        self.is_forced = self._requested.is_set()
        self._requested.set()
        with suppress(OSError):  # the output is closed; shut down all the same
            self._on_signal(self.is_forced)
        if self.is_forced:  # cancel whatever still waits for a graceful end
            for task in asyncio.all_tasks():
                task.cancel()


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a server until it ends, on uvloop if it is installed, and return its exit code."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
