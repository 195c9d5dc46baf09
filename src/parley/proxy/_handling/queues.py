"""The order of what passes a proxy in one direction, for as long as a handler holds something back.

Each session has a lane. A message with nothing before it passes at once, and then there is no lane.
A message that a handler works on occupies the lane; later ones wait, responses included, so that
nothing overtakes anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

Begin: TypeAlias = Callable[["QueueSlot"], bool]
"""Begins a waiting message; returns whether it occupies the lane until its slot is released."""

_ITEM_BYTES = 512


class QueueSlot:
    """The right to be the first in a lane; ended once."""

    __slots__ = ("_is_over", "_lanes", "_session_id", "_size")

    def __init__(self, queues: SessionQueues, session_id: str, size: int) -> None:
        self._lanes = queues
        self._session_id = session_id
        self._size = size
        self._is_over = False

    def end(self) -> None:
        """Begin the next message."""
        if not self._is_over:
            self._is_over = True
            self._lanes.worked_bytes -= self._size
            self._lanes.advance(self._session_id)


class SessionQueues:
    """The queues of the sessions in one direction."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        """Begin without a lane.

        Args:
            on_change: Called when more or less waits.
        """
        self.occupied: dict[str, deque[tuple[Begin, int]]] = {}
        """The waiting messages by session, for sessions that are occupied."""
        self.bytes = 0
        """The size of the waiting messages."""
        self.worked_bytes = 0
        """The size of the messages that handlers work on."""
        self.on_change = on_change
        """Called when the size of the waiting messages has changed."""

    def hold(self, session_id: str, size: int = 0) -> QueueSlot:
        """Take the lane of a session, which is free."""
        self.occupied[session_id] = deque()
        self.worked_bytes += size + _ITEM_BYTES
        self.on_change()
        return QueueSlot(self, session_id, size + _ITEM_BYTES)

    def put(self, session_id: str, begin: Begin, size: int) -> None:
        """Add a message to an occupied lane."""
        self.occupied[session_id].append((begin, size + _ITEM_BYTES))
        self.bytes += size + _ITEM_BYTES
        self.on_change()

    def advance(self, session_id: str) -> None:
        """Begin what waits, up to what holds the lane again."""
        queue = self.occupied[session_id]
        while queue:
            begin, size = queue.popleft()
            self.bytes -= size
            self.worked_bytes += size
            if begin(QueueSlot(self, session_id, size)):
                self.on_change()
                return
            self.worked_bytes -= size
        del self.occupied[session_id]
        self.on_change()
