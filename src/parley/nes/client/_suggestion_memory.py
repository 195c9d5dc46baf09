"""The memory of a client: questions not to be asked again, and rejected suggestions."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import NamedTuple

from parley.nes._rebase import Step

from ._suggestion import ActionSuggestion, Suggestion, bare, follow


class Key(NamedTuple):
    """The text and the line that an answer depends on."""

    uri: str
    text: int
    """A number for the text."""
    line: int
    """Where the cursor is."""


class SuggestionCache:
    """The latest answers: the id of a suggestion, or None for "nothing"."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[Key, str | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: Key) -> bool:
        """Return whether an answer is known; it counts as used then."""
        if key not in self._entries:
            return False
        self._entries.move_to_end(key)
        return True

    def put(self, key: Key, suggestion_id: str | None) -> None:
        """Keep an answer; the one that was used least lately may go for it."""
        self._entries[key] = suggestion_id
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)

    def drop(self, id: str) -> None:
        """Drop a suggestion whose outcome is sent."""
        for key in [key for key, suggestion_id in self._entries.items() if suggestion_id == id]:
            del self._entries[key]

    def forget_others(self, uri: str) -> None:
        """Drop the answers about other documents than the one that was changed."""
        for key in [each for each in self._entries if each.uri != uri]:
            del self._entries[key]

    def forget(self, uri: str) -> None:
        """Drop the answers about a document."""
        for key in [each for each in self._entries if each.uri == uri]:
            del self._entries[key]


class RejectionMemory:
    """The suggestions that were rejected last."""

    def __init__(self, size: int) -> None:
        self._rejected: deque[Suggestion] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._rejected)

    def __contains__(self, suggestion: Suggestion) -> bool:
        """Return whether this was rejected, under whatever id."""
        return bare(suggestion) in self._rejected

    def add(self, suggestion: Suggestion) -> None:
        """Remember a rejection; the oldest may go for it."""
        self._rejected.append(bare(suggestion))

    def follow(self, step: Step) -> None:
        """Move what was rejected; where the user changes the place itself, it is forgotten.

        An action has no place, so it stays rejected.
        """
        left: list[Suggestion] = []
        for each in self._rejected:
            if isinstance(each, ActionSuggestion):
                left.append(each)
            elif (followed := follow(each, step)) is not None:
                left.append(followed.suggestion)
        self._rejected = deque(left, maxlen=self._rejected.maxlen)
