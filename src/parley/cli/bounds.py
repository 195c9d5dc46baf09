"""How far a run may go: `--timeout` and `--max-cost`.

At a bound the turn is cancelled as Ctrl-C does it, so that the agent ends it properly and what it
did is known. One that does not end then is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from parley.schema import v2

from .exits import Exit

__all__ = ["Bounds"]

GRACE = 5.0
"""How many seconds a cancelled turn has to end."""


class Bounds:
    """Watches over one run."""

    def __init__(self, timeout: float | None, max_cost: float | None) -> None:
        self.cancel_turn: Callable[[], Awaitable[None]] | None = None
        """Cancels the turn; None while there is none."""
        self.reached: str | None = None
        """Which bound was reached, as a sentence for the user."""
        self.code = Exit.CUT
        """How the command then exits."""
        self._timeout = timeout
        self._max_cost = max_cost
        self._work: asyncio.Task[object] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._tasks: set[asyncio.Future[None]] = set()

    def start(self) -> None:
        """Watch over the task that calls this."""
        self._work = asyncio.current_task()
        if self._timeout is not None:
            self._later(self._timeout, self._time_is_up)

    def stop(self) -> None:
        """Watch no more."""
        for timer in self._timers:
            timer.cancel()

    def see(self, update: v2.SessionUpdate) -> None:
        """Look at what the session has cost so far, where the agent says so."""
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
        if self.cancel_turn is None:
            self._give_up()
            return
        task = asyncio.ensure_future(self.cancel_turn())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._later(GRACE, self._give_up)

    def _give_up(self) -> None:
        if self._work is not None:
            self._work.cancel()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timers.append(asyncio.get_running_loop().call_later(seconds, call))
