"""What becomes of a suggestion when the text changes under it."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from parley.nes.documents.change import Change, Span
from parley.nes.rebase import Step, beyond, moved, rebased

from .suggestion import ActionSuggestion, EditSuggestion, ReplaceSuggestion, Suggestion

__all__ = ["Followed", "follow"]


class Followed(Struct, frozen=True):
    """A suggestion that has outlived a change."""

    suggestion: Suggestion
    is_typed: bool = False
    """Whether the user typed a part of it."""


def follow(suggestion: Suggestion, step: Step) -> Followed | None:
    """Return a suggestion as it is after a change; None if it is over.

    One that has been typed to its end is over too. So is an action, whose arguments may name places
    of the text as it was.
    """
    if suggestion.uri != step.uri or isinstance(suggestion, ReplaceSuggestion):
        return Followed(suggestion)
    if isinstance(suggestion, ActionSuggestion):
        return None
    if isinstance(suggestion, EditSuggestion):
        return _follow_edits(suggestion, step)
    spot = moved(suggestion.spot, step.change)
    return None if spot is None else Followed(replace(suggestion, spot=spot))


def _follow_edits(suggestion: EditSuggestion, step: Step) -> Followed | None:
    left = rebased(suggestion.edits, step)
    if left is None:
        return None
    cursor, change = suggestion.cursor, step.change
    if cursor is not None and not left.is_typed:
        span = Span(*(beyond(each, suggestion.edits) for each in change.span))
        cursor = moved(cursor, Change(span, change.old, change.new))
    return Followed(replace(suggestion, edits=left.edits, cursor=cursor), left.is_typed)
