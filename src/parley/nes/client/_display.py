"""The suggestion that is shown, and the outcomes of those that were.

A suggestion that the user looks at is not exchanged for another one about the same text, unless
that says the same and more, is an edit in the place of a jump, or belongs to another document. When
an answer for a newer text does not repeat it, it is over: it followed from an edit that the user
has continued. Outcomes are returned, to be sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from parley.nes._documents.change import Spot
from parley.nes._rebase import Step
from parley.nes.engine import Outcome

from ._suggestion import EditSuggestion, JumpSuggestion, Suggestion, bare, follow

logger = logging.getLogger(__name__)

Show: TypeAlias = Callable[[Suggestion | None], object]
"""Shows a suggestion in the place of the last one; None: nothing any more."""


class OutcomeReport(NamedTuple):
    """The outcome of a suggestion."""

    id: str
    outcome: Outcome


def extends(new: Suggestion, old: Suggestion) -> bool:
    """Return whether a suggestion says the same as another one and more, or more than a place."""
    if not isinstance(new, EditSuggestion) or not isinstance(old, EditSuggestion):
        return isinstance(new, EditSuggestion) and isinstance(old, JumpSuggestion)
    if len(new.edits) != 1 or len(old.edits) != 1:
        return False
    one, other = new.edits[0], old.edits[0]
    return one.span == other.span and one.text != other.text and one.text.startswith(other.text)


class Display:
    """The suggestion that is shown."""

    def __init__(self, show: Show | None) -> None:
        self.shown: Suggestion | None = None
        self._revision = 0
        """Which texts it was suggested for last, counted up at each change."""
        self._show = show

    def take_response(
        self, best: Suggestion | None, *, revision: int, repeats: bool, insists: bool
    ) -> list[OutcomeReport]:
        """Take in an answer.

        Args:
            best: What is to be shown of it; None if that is nothing.
            revision: Which texts it is about, counted up at each change.
            repeats: Whether what is shown is in the answer too.
            insists: Whether the user asked for it.
        """
        old, is_newer = self.shown, revision > self._revision
        if old is None:
            return [] if best is None else self._exchange(best, revision)
        says_more = best is not None and (extends(best, old) or best.uri != old.uri)
        is_other = insists and best is not None and bare(best) != bare(old)
        if repeats and not says_more and not is_other:
            self._revision = max(self._revision, revision)
        elif best is not None and (is_newer or says_more or is_other):
            return self._exchange(best, revision)
        elif is_newer:
            return self.drop("replaced")
        return [] if best is None or best.id == old.id else [OutcomeReport(best.id, "cancelled")]

    def _exchange(self, new: Suggestion, revision: int) -> list[OutcomeReport]:
        """Show another suggestion."""
        old, self._revision = self.shown, revision
        self._put(new)
        return [] if old is None or old.id == new.id else [OutcomeReport(old.id, "replaced")]

    def follow(self, step: Step) -> tuple[bool, list[OutcomeReport]]:
        """Follow a change; returns whether it was a part of what is shown."""
        if self.shown is None:
            return False, []
        followed = follow(self.shown, step)
        if followed is None:
            return False, self.drop("ignored")
        if followed.suggestion != self.shown:
            self._put(followed.suggestion)
        return followed.is_typed, []

    def arrived(self, uri: str, spot: Spot) -> list[OutcomeReport]:
        """Drop a jump when the cursor is where it leads to."""
        shown = self.shown
        if isinstance(shown, JumpSuggestion) and (shown.uri, shown.spot.line) == (uri, spot.line):
            return self.drop("ignored")
        return []

    def drop(self, outcome: Outcome) -> list[OutcomeReport]:
        """Show nothing any more."""
        if self.shown is None:
            return []
        gone = self.shown
        self._put(None)
        return [OutcomeReport(gone.id, outcome)]

    def _put(self, suggestion: Suggestion | None) -> None:
        self.shown = suggestion
        if self._show is None:
            return
        try:
            self._show(suggestion)
        except Exception:  # of the editor: the text and the agent are not affected
            logger.exception("a suggestion cannot be shown")
