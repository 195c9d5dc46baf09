"""An event loop whose clock leaves out the moments in which the process could not run.

Many timeouts of Parley are tested with both sides of a connection in one process. On a busy machine
the process may stop for longer than such a timeout, between two steps of an exchange that takes no
time at all. A timeout that expires then is not a defect, and no test can wait for a better
moment. So time passes here while the loop waits, and hardly while it works:

- A wait in which nothing arrives takes as long as the loop intended.
- A wait that ends because something has arrived makes no timer due: what arrived comes first.
- A round of callbacks takes a tenth of a millisecond at most: endless work reaches timeouts too.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from time import monotonic

__all__ = ["SteadyEventLoop", "new_event_loop"]

MAX_ROUND = 0.0001
"""How many seconds a round of callbacks takes at most."""
_BEFORE = 0.99
"""The part of a wait that has passed at most when something arrives."""

_Ready = list[tuple[selectors.SelectorKey, int]]


class SteadyEventLoop(asyncio.SelectorEventLoop):
    """The loop that asynchronous tests run on."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._steady = _SteadySelector(clock)
        super().__init__(self._steady)

    def time(self) -> float:
        return self._steady.now


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop for a test; a test that needs another one replaces this function."""
    return SteadyEventLoop()


class _SteadySelector(selectors.DefaultSelector):
    """Waits, and knows how much time has passed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._woke_at = self.now = clock()

    def select(self, timeout: float | None = None) -> _Ready:
        began = self._clock()
        self.now += min(began - self._woke_at, MAX_ROUND)
        ready = super().select(timeout)
        self._woke_at = self._clock()
        waited = self._woke_at - began
        if timeout is None:
            self.now += waited
        elif timeout > 0:
            self.now += min(waited, timeout * _BEFORE) if ready else timeout
        return ready
