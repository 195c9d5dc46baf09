"""A dict with a maximum size."""

from __future__ import annotations

from collections import UserDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(UserDict[K, V]):
    """A dict with a maximum number of entries; setting one more removes the oldest.

    The age of an entry counts from the last time it was set.
    """

    def __init__(self, max_size: int) -> None:
        super().__init__()
        self._max_size = max_size

    def __setitem__(self, key: K, value: V) -> None:
        """Set an entry, which becomes the newest."""
        self.data.pop(key, None)
        self.data[key] = value
        if len(self.data) > self._max_size:
            del self.data[next(iter(self.data))]
