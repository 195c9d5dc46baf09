"""Updates that arrive before the session they belong to is known.

An agent may speak of a new session before the client has the answer that names it. While a request
that opens a session is under way, updates of sessions nobody has heard of are held; the answer
releases them, and so does a request that the peer makes in the session, which must not overtake
them. When no request that opens a session is left, the others are released too: their handler
decides.
"""

from __future__ import annotations

from typing import Any

from .lane import ITEM_BYTES, Run

__all__ = ["EarlyUpdates"]


class EarlyUpdates:
    """The sessions that are known, and what is held for those that are not."""

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._known: set[str] = set()
        self._held: dict[str, list[tuple[int, Run, Any]]] = {}
        self._count = 0
        self._bytes = 0
        self.opening = 0
        """How many requests are under way whose answer will name a session."""

    def knows(self, session: str) -> None:
        """Remember a session that we have named, or the answer to us."""
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
        self._bytes += frame_bytes + ITEM_BYTES
        return True

    @property
    def is_full(self) -> bool:
        """Whether more is held than may be."""
        return self._count > self._limit or self._bytes > self._limit_bytes

    @property
    def sessions(self) -> list[str]:
        """Those for which something is held."""
        return list(self._held)

    def release(self, session: str) -> list[tuple[int, Run, Any]]:
        """Return what was held for a session."""
        held = self._held.pop(session, [])
        self._count -= len(held)
        self._bytes -= sum(frame_bytes + ITEM_BYTES for frame_bytes, _, _ in held)
        return held
