"""What need not be asked again: questions whose answer is shown, or was "nothing".

A question is about a text and the line that the cursor is in. An answer that the user has seen go
is not kept: what became of it was told, and what is told is over. So it is asked for again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

__all__ = ["Cache", "Key"]


class Key(NamedTuple):
    """What an answer depends on."""

    uri: str
    text: int
    """Tells texts apart."""
    line: int
    """Where the cursor is."""


class Cache:
    """The latest answers: the id of a suggestion, or None for "nothing"."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._answers: OrderedDict[Key, str | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, key: Key) -> bool:
        """Return whether an answer is known; it counts as used then."""
        if key not in self._answers:
            return False
        self._answers.move_to_end(key)
        return True

    def put(self, key: Key, answer: str | None) -> None:
        """Keep an answer; the one that was used least lately may go for it."""
        self._answers[key] = answer
        self._answers.move_to_end(key)
        while len(self._answers) > self._size:
            self._answers.popitem(last=False)

    def drop(self, id: str) -> None:
        """Drop a suggestion of which was told what became of it."""
        for key in [key for key, answer in self._answers.items() if answer == id]:
            del self._answers[key]

    def forget_others(self, uri: str) -> None:
        """Drop the answers about other documents than the one that was changed."""
        for key in [each for each in self._answers if each.uri != uri]:
            del self._answers[key]

    def forget(self, uri: str) -> None:
        """Drop the answers about a document."""
        for key in [each for each in self._answers if each.uri == uri]:
            del self._answers[key]
