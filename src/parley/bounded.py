"""A dict that does not grow without end."""

from __future__ import annotations

from collections import UserDict
from typing import TypeVar

__all__ = ["Bounded"]

K = TypeVar("K")
V = TypeVar("V")


class Bounded(UserDict[K, V]):
    """A dict of at most so many entries; one more, and the oldest is forgotten.

    An entry is as old as the last time that it was set.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        """Set an entry, which is now the newest."""
        self.data.pop(key, None)
        self.data[key] = value
        if len(self.data) > self._most:
            del self.data[next(iter(self.data))]
