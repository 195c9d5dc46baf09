"""Ctrl-C: the first cancels the turn, the second ends the agent.

The agent is in a process group of its own, so only we get the signal. Before there is a turn, and
for SIGTERM, there is nothing to cancel but ourselves.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType

from parley.transport.child import SIGKILL, signal_group

from .exits import say

__all__ = ["Interrupts"]


class Interrupts:
    """Handles signals while its block runs."""

    def __init__(self, make_room: Callable[[bool], None]) -> None:
        """Handle signals.

        Args:
            make_room: Ends the line that is being written; it is told whether the terminal has
                begun a new one already.
        """
        self._make_room = make_room
        self.cancel_turn: Callable[[], Awaitable[None]] | None = None
        """What the first Ctrl-C does; None while there is no turn."""
        self.pid: int | None = None
        """The agent's process and group; None while it is not known."""
        self.has_ended = False
        """Whether the user has ended it all."""
        self._has_cancelled = False
        self._tasks: set[asyncio.Future[None]] = set()

    def __enter__(self) -> Interrupts:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not every loop has signals
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
            loop.add_signal_handler(signal.SIGTERM, self._end)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)

    def _interrupt(self) -> None:
        is_echoed = sys.stderr.isatty()
        if is_echoed:
            say("")  # the terminal has written ^C
        self._make_room(is_echoed)
        if self.cancel_turn is None or self._has_cancelled:
            self._end()
            return
        self._has_cancelled = True
        say("parley: cancelling; Ctrl-C again ends the agent")
        task = asyncio.ensure_future(self.cancel_turn())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self) -> None:
        """End the command, and the agent with it; the second time without mercy."""
        is_second = self.has_ended or self._has_cancelled
        self.has_ended = True
        self._make_room(False)
        say(f"parley: {'ended' if is_second else 'ending the agent; Ctrl-C again kills it'}")
        if is_second and self.pid is not None:
            signal_group(self.pid, SIGKILL)
        for task in asyncio.all_tasks() if is_second else {self._task}:
            if task is not None:  # one that ends the agent politely stops being polite
                task.cancel()
