"""The limits of a run: `--timeout` and `--max-cost`.

At a limit the turn is cancelled as by Ctrl-C, so that the agent ends it properly and the journal
has what it did. If it does not end in time, the run ends without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from parley.schema import v2

from .reporting import Exit
from .turn_canceller import TurnCanceller

__all__ = ["RunLimits"]

GRACE = 5.0
"""Seconds that a cancelled turn has to end."""


class RunLimits:
    """Ends a run at its limits."""

    def __init__(
        self, canceller: TurnCanceller, *, timeout: float | None, max_cost: float | None
    ) -> None:
        self.reached: str | None = None
        """The limit that was reached, as a sentence for the user."""
        self.code = Exit.CUT
        """The exit code if one was reached."""
        self._canceller = canceller
        self._timeout = timeout
        self._max_cost = max_cost
        self._work: asyncio.Task[object] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    def start(self) -> None:
        """Apply the limits to the task that calls this."""
        self._work = asyncio.current_task()
        if self._timeout is not None:
            self._later(self._timeout, self._time_is_up)

    def stop(self) -> None:
        """Apply them no more."""
        for timer in self._timers:
            timer.cancel()

    def see(self, update: v2.SessionUpdate) -> None:
        """Check what the session has cost so far, if the agent reports it."""
        if self._max_cost is None or not isinstance(update, v2.UsageUpdate):
            return
        if isinstance(update.cost, v2.Cost) and update.cost.amount >= self._max_cost:
            spent = f"{update.cost.amount:g} {update.cost.currency}"
            self._stop_turn(f"the session has cost {spent}, and --max-cost is {self._max_cost:g}")

    def _time_is_up(self) -> None:
        self.code = Exit.TIMEOUT
        self._stop_turn(f"the {self._timeout:g} s of --timeout are over")

    def _stop_turn(self, why: str) -> None:
        if self.reached is not None:
            return
        self.reached = why
        if not self._canceller.has_turn:
            self._give_up()
            return
        self._canceller.cancel()
        self._later(GRACE, self._give_up)

    def _give_up(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))
