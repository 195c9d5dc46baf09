"""What the user has rejected, so that it is not shown again where it has moved to."""

from __future__ import annotations

from collections import deque

from parley.nes.rebase import Step

from .rebase import follow
from .suggestion import ActionSuggestion, Suggestion, bare

__all__ = ["Memory"]


class Memory:
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
