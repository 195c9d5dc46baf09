"""Signals: the first Ctrl-C cancels the turn, the second ends the agent.

The agent is in a process group of its own, so only we get the signal. An agent that does not end
the turn in time is ended in order, as by SIGTERM. SIGHUP, when the terminal is closed, is like the
first Ctrl-C. Before there is a turn, there is nothing to cancel but ourselves.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from .reporting import say
from .turn_canceller import TurnCanceller

__all__ = ["CANCEL_AFTER", "Interrupts"]

CANCEL_AFTER = 5.0
"""Seconds that an agent has to end a cancelled turn."""
_HANG_UP: int = getattr(signal, "SIGHUP", signal.SIGTERM)  # which is not on every system


class Interrupts:
    """Handles signals while its block runs."""

    def __init__(
        self,
        canceller: TurnCanceller,
        *,
        end_line: Callable[[bool], None],
        kill_agent: Callable[[], None],
    ) -> None:
        """Handle signals.

        Args:
            canceller: Cancels the turn at the first Ctrl-C, if there is one.
            end_line: Ends the line that is being written; its argument is whether the terminal has
                begun a new one already.
            kill_agent: Kills the agent if it has been started.
        """
        self._canceller = canceller
        self._end_line = end_line
        self._kill_agent = kill_agent
        self.has_ended = False
        """Whether the user has ended the command."""
        self._has_cancelled = False
        self._given_up: asyncio.TimerHandle | None = None
        self._terminals = [fd for fd in range(3) if os.isatty(fd)]

    def __enter__(self) -> Interrupts:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # not every loop has signals
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
            loop.add_signal_handler(signal.SIGTERM, self._end)
            if signal.getsignal(_HANG_UP) is not signal.SIG_IGN:  # as `nohup` has it
                loop.add_signal_handler(_HANG_UP, self._hang_up)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._given_up is not None:
            self._given_up.cancel()
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):
            for number in (signal.SIGINT, signal.SIGTERM, _HANG_UP):
                loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        is_echoed = sys.stderr.isatty()
        if is_echoed:
            say("")  # the terminal has written ^C
        self._end_line(is_echoed)
        if not self._canceller.has_turn or self._has_cancelled:
            self._end()
            return
        say("parley: cancelling; Ctrl-C again ends the agent")
        self._cancel()

    def _cancel(self) -> None:
        """Cancel the turn, and give the agent some time to end it."""
        self._has_cancelled = True
        self._canceller.cancel()
        loop = asyncio.get_running_loop()
        self._given_up = loop.call_later(CANCEL_AFTER, self._give_up)

    def _give_up(self) -> None:
        """End an agent that has not ended the turn after it was cancelled."""
        if not self._canceller.has_turn or self.has_ended:
            return
        self._end_line(False)
        say(
            f"parley: the agent has not ended the turn in {CANCEL_AFTER:g} s, so it is ended now; "
            "Ctrl-C kills it"
        )
        self._leave()

    def _hang_up(self) -> None:
        """End everything in order; there is no terminal any more to write to."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in self._terminals:
            os.dup2(nowhere, fd)
        os.close(nowhere)
        if not self._canceller.has_turn or self._has_cancelled:
            self._leave()
        else:
            self._cancel()

    def _leave(self) -> None:
        """End the command, which ends the agent politely."""
        self.has_ended = True
        if self._task is not None:
            self._task.cancel()

    def _end(self) -> None:
        """End the command, and the agent with it; the second time, kill the agent."""
        is_second = self.has_ended or self._has_cancelled
        self.has_ended = True
        self._end_line(False)
        say(f"parley: {'ended' if is_second else 'ending the agent; Ctrl-C again kills it'}")
        if is_second:
            self._kill_agent()
        for task in asyncio.all_tasks() if is_second else {self._task}:
            if task is not None:  # one that ends the agent politely stops being polite
                task.cancel()
