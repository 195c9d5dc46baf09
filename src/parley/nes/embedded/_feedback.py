"""The reasons not to show a candidate that follow from the user's keys and decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from parley.nes.engine import Change, Outcome, Spot

from ._context import Candidate
from ._source import SourceFile
from ._tokens import is_part, word_at, words

_MOST_STRIKES = 2.0
_IGNORED = 0.5
_LATELY = 10


class OutcomeMemory:
    """The outcomes of candidates: which are barred, and how much better or worse others get."""

    def __init__(self) -> None:
        self._rejected: set[tuple[str, str, str]] = set()
        self._strikes: dict[str, float] = {}
        self._ignored: dict[str, int] = {}
        self._taken: dict[str, int] = {}
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._luck = 0.0
        """The share of the last proposals that was accepted, less the share that was rejected."""

    def learn(self, candidate: Candidate, old: str, outcome: Outcome) -> None:
        """Note what became of a candidate; the old text is what it would have replaced."""
        cause = candidate.cause
        if outcome == "accepted":
            self._taken[cause] = self._taken.get(cause, 0) + 1
            self._lately.append(True)
        elif outcome == "rejected":
            self._rejected.add(_sign(candidate, old))
            self._strikes[cause] = self._strikes.get(cause, 0.0) + 1
            self._lately.append(False)
        elif outcome == "ignored":
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


_SETTLED_AFTER = 0.7


class TypingState:
    """Knows the last keystroke."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._uri = ""
        self._change: Change | None = None
        self._at = 0.0

    def changed(self, uri: str, change: Change) -> None:
        """Note a change."""
        self._uri, self._change, self._at = uri, change, self._clock()

    def is_gap(self, uri: str, lines: Sequence[str], spot: Spot) -> bool:
        """Return whether the cursor is where a whole word was taken away last."""
        change = self._change
        if change is None or uri != self._uri or change.new or spot != change.span.start:
            return False
        if not change.old or not all(map(is_part, change.old)) or spot.line >= len(lines):
            return False
        start, end = word_at(lines[spot.line], spot.column)
        return start == end

    def half_word(self, file: SourceFile, spot: Spot) -> str:
        """Return the word at the cursor if it is being typed."""
        if not self._is_typing(file.uri) or not 0 <= spot.line < len(file.lines):
            return ""
        line = file.lines[spot.line]
        start, end = word_at(line, spot.column)
        return line[start:end]

    def _is_typing(self, uri: str) -> bool:
        """Return whether the last change was one key, and a moment ago."""
        change = self._change
        if change is None or uri != self._uri or len(change.new) > 1 or len(change.old) > 1:
            return False
        key = change.new or change.old
        return is_part(key) and self._clock() - self._at < _SETTLED_AFTER


def is_half_done(word: str, now: tuple[SourceFile, Spot], candidate: Candidate, old: str) -> bool:
    """Return whether a candidate is in the half word at the cursor, or would spread it."""
    file, spot = now
    if candidate.uri == file.uri and candidate.start <= spot.line < candidate.end:
        return True
    if not candidate.is_sure:
        return True
    new = "\n".join(candidate.lines)
    if word in new and word in words(new) and word not in words(old):
        return True
    return word in candidate.cause and word in words(candidate.cause)
