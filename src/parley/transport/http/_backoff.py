"""Exponential backoff with jitter between attempts to reach a peer.

When to give up is decided in `_client/reconnect.py`.
"""

from __future__ import annotations

import random

RETRY_AFTER = 0.1
"""Upper bound of the first wait, in seconds."""
_MAX_FLAPPING_DOUBLINGS = 3
"""Cap on doublings while the peer flaps: reachable, but never for long."""


class Backoff:
    """Exponential backoff; jitter keeps clients from reconnecting all at once."""

    def __init__(self, first_after: float = RETRY_AFTER, max_after: float = 10.0) -> None:
        self._first_after = first_after
        self._max_after = max_after
        self._attempts = 0

    def reset(self) -> None:
        """Return to the shortest wait, because the peer was reached."""
        self._attempts = 0

    def connection_lasted(self, seconds: float) -> None:
        """Record how long a connection lasted, even if the peer sent nothing on it.

        A network that keeps failing is not an unreachable peer, so the wait stays short. It is not
        reset after a short connection, however: a peer that accepts us only to disconnect us would
        otherwise be retried in a tight loop.
        """
        self._attempts = (
            0 if seconds > self._max_after else min(self._attempts, _MAX_FLAPPING_DOUBLINGS)
        )

    def next(self) -> float:
        """Return the number of seconds to wait before the next attempt."""
        wait = min(self._max_after, self._first_after * float(2 ** min(self._attempts, 30)))
        self._attempts += 1
        return wait * random.uniform(0.5, 1.0)
