"""Timing of pings to a silent peer, for HTTP/2 and WebSocket connections of the server.

The protocols send the pings (`_h2.py`, `_ws.py`).
"""

from __future__ import annotations

from .limits import ServerLimits


class Heartbeat:
    """Decides when to ping a silent peer, and when to consider it disconnected."""

    __slots__ = ("_limits", "_pinged_at")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._pinged_at = 0.0

    def is_due(self, now: float, last_received_at: float) -> bool:
        """Return whether to send a ping now; if so, record it as sent."""
        if self._pinged_at > last_received_at or now - last_received_at < self._limits.ping_after:
            return False
        self._pinged_at = now
        return True

    def is_missed(self, now: float, last_received_at: float) -> bool:
        """Return whether the peer has not replied to a ping in time."""
        return (
            self._pinged_at > last_received_at
            and now - self._pinged_at >= self._limits.ping_timeout
        )

    def next_at(self, last_received_at: float) -> float:
        """Return the earliest time at which `is_due` or `is_missed` can become true."""
        if self._pinged_at > last_received_at:
            return self._pinged_at + self._limits.ping_timeout
        return last_received_at + self._limits.ping_after
