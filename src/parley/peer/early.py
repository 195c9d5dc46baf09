"""Updates that arrive before the session they belong to is known.

An agent may speak of a new session before the client has the answer that names it. While a request
that opens a session is under way, updates of sessions nobody has heard of are held; the answer
releases them. When no such request is left, so are the others: their handler decides.
"""

from __future__ import annotations

from typing import Any

from .dispatch import Run

__all__ = ["EarlyUpdates"]


class EarlyUpdates:
    """The sessions that are known, and what is held for those that are not."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._held: dict[str, list[tuple[int, Run, Any]]] = {}
        self._count = 0
        self.opening = 0
        """How many requests are under way whose answer will name a session."""

    def knows(self, session: str) -> None:
        """Remember a session that we or the peer have named."""
        self._known.add(session)

    def forget(self, session: str) -> None:
        """Forget a session that was closed."""
        self._known.discard(session)

    def hold(self, session: str, frame_bytes: int, run: Run, params: Any) -> bool:
        """Keep an update of an unknown session; returns whether it was kept."""
        if session in self._known:
            return False
        self._held.setdefault(session, []).append((frame_bytes, run, params))
        self._count += 1
        return True

    @property
    def is_full(self) -> bool:
        """Whether more is held than may be."""
        return self._count > self._limit

    def release(self, session: str) -> list[tuple[int, Run, Any]]:
        """Return what was held for a session."""
        held = self._held.pop(session, [])
        self._count -= len(held)
        return held

    def release_all(self) -> list[tuple[str, list[tuple[int, Run, Any]]]]:
        """Return everything that was held, session by session."""
        return [(session, self.release(session)) for session in list(self._held)]
