"""The limit of the histories of all sessions together.

Each session keeps its history for clients that attach later, up to `HostLimits.history_bytes`.
Thousands of sessions may be open, so all histories together are limited too: beyond
`HostLimits.total_history_bytes`, the least recently used sessions drop theirs first.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["HistoryBudget", "HistoryOwner"]


class HistoryOwner(Protocol):
    """A session, as far as its history is concerned."""

    @property
    def history_bytes(self) -> int:
        """The size of its history."""
        ...

    def truncate(self) -> None:
        """Forget the history."""
        ...


class HistoryBudget:
    """The sizes of all histories, ordered by last use."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._sizes: dict[HistoryOwner, int] = {}  # the one that was used last is at the end
        self.total_bytes = 0
        """The size of all histories."""

    def update(self, owner: HistoryOwner) -> None:
        """Count the history of a session that is being used, and make others forget if needed."""
        self.remove(owner)
        size = owner.history_bytes
        if size:
            self._sizes[owner] = size
            self.total_bytes += size
        while self.total_bytes > self._max_bytes:
            oldest = next(iter(self._sizes))
            oldest.truncate()
            self.remove(oldest)

    def remove(self, owner: HistoryOwner) -> None:
        """Stop counting a session, because it has ended or has no history."""
        self.total_bytes -= self._sizes.pop(owner, 0)
