"""What became of proposals: what is never shown again, and how bold to be."""

from __future__ import annotations

from collections import deque

from parley.nes.engine import Fate

from .candidate import Candidate

__all__ = ["Memory"]

_MOST_STRIKES = 2.0
_IGNORED = 0.5
_LATELY = 10


class Memory:
    """Learns from what the user accepts and rejects."""

    def __init__(self) -> None:
        self._rejected: set[tuple[str, str, str]] = set()
        self._strikes: dict[str, float] = {}
        self._ignored: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._luck = 0.0
        """How many more of the last proposals were accepted than rejected, as a share."""

    def learn(self, candidate: Candidate, old: str, fate: Fate) -> None:
        """Note what became of a candidate; the old text is what it would have replaced."""
        cause = candidate.cause
        if fate == "accepted":
            self._taken[cause] = self._taken.get(cause, 0) + 1
            self._lately.append(True)
        elif fate == "rejected":
            self._rejected.add(_sign(candidate, old))
            self._strikes[cause] = self._strikes.get(cause, 0.0) + 1
            self._lately.append(False)
        elif fate == "ignored":
            self._ignored[cause] = self._ignored.get(cause, 0) + 1
            if self._ignored[cause] % 3 == 0:
                self._strikes[cause] = self._strikes.get(cause, 0.0) + _IGNORED
        self._luck = sum(1 if taken else -1 for taken in self._lately) / _LATELY

    def is_barred(self, candidate: Candidate, old: str) -> bool:
        """Return whether a candidate was rejected, or its cause twice."""
        if _sign(candidate, old) in self._rejected:
            return True
        return self._strikes.get(candidate.cause, 0.0) >= _MOST_STRIKES

    def shift(self, candidate: Candidate) -> float:
        """Return how much better or worse than usual a candidate is, on the scale of scores."""
        own = min(2, self._taken.get(candidate.cause, 0)) - self._strikes.get(candidate.cause, 0.0)
        return own + 0.5 * self._luck


def _sign(candidate: Candidate, old: str) -> tuple[str, str, str]:
    return candidate.uri, old, "\n".join(candidate.lines)
