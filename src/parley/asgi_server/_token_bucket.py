"""A rate limit for frames that only cost us work: resets, pings, settings, empty data.

A burst of `ServerLimits.floods` frames is allowed, and refills at `floods_per_second`. What happens
to a peer beyond that is decided in `_h2.py` and `_ws.py`.
"""

from __future__ import annotations

from .limits import ServerLimits


class TokenBucket:
    """A token bucket for the frames of one connection that only cost us work."""

    __slots__ = ("_capacity", "_refilled_at", "_tokens", "_tokens_per_second")

    def __init__(self, limits: ServerLimits, now: float) -> None:
        self._capacity = self._tokens = float(limits.floods)
        self._tokens_per_second = limits.floods_per_second
        self._refilled_at = now

    def spend(self, now: float, count: int = 1) -> bool:
        """Consume tokens and return whether there were enough."""
        refill = (now - self._refilled_at) * self._tokens_per_second
        self._tokens = min(self._capacity, self._tokens + refill) - count
        self._refilled_at = now
        return self._tokens >= 0
