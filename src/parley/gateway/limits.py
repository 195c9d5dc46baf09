"""What a hosted agent may cost, and how often it may be started.

How many connections and sessions there may be is not said here but in `AppLimits`, of the
application through which every client comes.
"""

from __future__ import annotations

from collections import deque
from time import monotonic

from msgspec import Struct

from parley.errors import Overloaded
from parley.transport.http._app.limits import AppLimits

__all__ = ["HostLimits", "SpawnRate"]


class HostLimits(Struct, frozen=True, kw_only=True):
    """What one hosted agent may hold; each is refused with -32005 beyond."""

    in_flight: int = AppLimits().in_flight
    """Requests of one connection that are under way."""
    spawns: int = 30
    """Processes that may be started within `spawns_within`."""
    spawns_within: float = 60.0
    """Seconds."""
    shared_idle: float = 300.0
    """Seconds for which a shared agent stays that has no clients and no sessions."""
    shared_per_principal: int = 8
    """Processes of a shared agent for one principal, one for each kind of client."""
    attached: int = 16
    """Further clients on one session."""
    waiting_prompts: int = 16
    """Prompts of further clients that wait for a turn to end, in one session."""
    history_bytes: int = 16 * 1024 * 1024
    """What is kept of a session to tell it to further clients; then its beginning is forgotten."""
    total_history_bytes: int = 256 * 1024 * 1024
    """What is kept of all sessions; then those that were used least recently are forgotten."""
    behind_bytes: int = 4 * 1024 * 1024
    """How far a further client may be behind before its connection is ended."""
    patience: float = 60.0
    """Seconds for which a client may take nothing while the agent waits for it."""


class SpawnRate:
    """Counts the starts of processes."""

    def __init__(self, limits: HostLimits) -> None:
        self._limits = limits
        self._starts: deque[float] = deque()

    def check(self) -> None:
        """Count one more.

        Raises:
            Overloaded: There were too many.
        """
        now, limits = monotonic(), self._limits
        while self._starts and self._starts[0] <= now - limits.spawns_within:
            self._starts.popleft()
        if len(self._starts) >= limits.spawns:
            raise Overloaded(
                f"{limits.spawns} agents were started within {limits.spawns_within:g} seconds; "
                "try again later"
            )
        self._starts.append(now)
