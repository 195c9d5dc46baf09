"""How long to wait before the next attempt to reach a peer that is away."""

from __future__ import annotations

import random

__all__ = ["RETRY_AFTER", "Backoff"]

RETRY_AFTER = 0.1
"""How many seconds the first wait takes at most."""
_FLAPPING = 3
"""So often the wait is doubled at most while the peer is there, but never for long."""


class Backoff:
    """Waits twice as long each time, by chance a little less, so that not all come at once."""

    def __init__(self, first_after: float = RETRY_AFTER, most_after: float = 10.0) -> None:
        self._first = first_after
        self._most = most_after
        self._attempts = 0

    def reset(self) -> None:
        """Begin again with a short wait: the peer was reached."""
        self._attempts = 0

    def lasted(self, seconds: float) -> None:
        """Learn how long the peer was there, though perhaps silent.

        A network that is cut again and again is not a peer that is away: the wait stays short. But
        it is not reset, so that who takes us in only to send us away is not asked without end.
        """
        self._attempts = 0 if seconds > self._most else min(self._attempts, _FLAPPING)

    def next(self) -> float:
        """Return how many seconds to wait now."""
        wait = min(self._most, self._first * float(2 ** min(self._attempts, 30)))
        self._attempts += 1
        return wait * random.uniform(0.5, 1.0)
