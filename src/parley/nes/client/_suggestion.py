"""Suggestions as an editor sees them: places are lines and columns in code points.

They come off the wire here. An edit is cut down to what it really changes, so that it can be
compared with what the user types; one that changes nothing is none.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document, content
from parley.nes._documents.encoding import Encoding, span_of, spot_of
from parley.nes._rebase import Step, beyond, end_after, moved, rebased, trimmed
from parley.nes.engine import TextEdit
from parley.schema import v2
from parley.schema.base import Unknown

_ENDS = re.compile(r"\r\n|\n|\r")


class EditSuggestion(Struct, frozen=True, kw_only=True):
    """Change a document; all spans are of its text as it is now, and do not overlap."""

    id: str
    uri: str
    edits: tuple[TextEdit, ...]
    """From the top to the bottom; apply them from the bottom."""
    cursor: Spot | None = None
    """Where to put the cursor afterwards, in the changed text."""
    meta: dict[str, Any] | None = None
    """The `_meta` of the agent."""

    @property
    def cursor_after(self) -> Spot:
        """The cursor afterwards: after the last edit, unless the agent sets it."""
        *above, last = self.edits
        return self.cursor or end_after(beyond(last.span.start, above), last.text)


class JumpSuggestion(Struct, frozen=True, kw_only=True):
    """Go somewhere."""

    id: str
    uri: str
    spot: Spot
    meta: dict[str, Any] | None = None


class RenameSuggestion(Struct, frozen=True, kw_only=True):
    """Rename the symbol at a place."""

    id: str
    uri: str
    spot: Spot
    new_name: str
    meta: dict[str, Any] | None = None


class ReplaceSuggestion(Struct, frozen=True, kw_only=True):
    """Replace every occurrence in a document."""

    id: str
    uri: str
    search: str
    replace: str
    is_regex: bool = False
    meta: dict[str, Any] | None = None


class ActionSuggestion(Struct, frozen=True, kw_only=True):
    """Run one of the editor's IDE actions."""

    id: str
    uri: str
    """The document that the agent was asked about; a change of it ends the suggestion."""
    action_id: str
    arguments: dict[str, Any] = {}
    """As the agent sent them; positions count in the session's encoding."""
    meta: dict[str, Any] | None = None


Suggestion: TypeAlias = (
    EditSuggestion | JumpSuggestion | RenameSuggestion | ReplaceSuggestion | ActionSuggestion
)
"""Any suggestion."""


def bare(suggestion: Suggestion) -> Suggestion:
    """Return what a suggestion does, without what differs each time."""
    if isinstance(suggestion, EditSuggestion):
        return replace(suggestion, id="", meta=None, cursor=None)
    return replace(suggestion, id="", meta=None)


def read_suggestion(
    suggestion: v2.NesSuggestion, document: Document | None, encoding: Encoding
) -> Suggestion | None:
    """Return a suggestion that came from an agent; None if it cannot be carried out.

    Args:
        suggestion: As it came.
        document: What it is about, as it was when the agent was asked, if it is known.
        encoding: What its positions count.
    """
    if isinstance(suggestion, Unknown | v2.NesActionSuggestion):
        return None
    given: dict[str, Any] = {
        "id": suggestion.suggestion_id,
        "uri": suggestion.uri,
        "meta": suggestion.meta,
    }
    if isinstance(suggestion, v2.NesSearchAndReplaceSuggestion):
        return ReplaceSuggestion(
            search=suggestion.search,
            replace=suggestion.replace,
            is_regex=suggestion.is_regex or False,
            **given,
        )
    if isinstance(suggestion, v2.NesEditSuggestion):
        return None if document is None else _edits(suggestion, document, encoding, given)
    place = suggestion.position
    spot = Spot(place.line, place.character)
    if document is not None:
        spot = spot_of(document, place, encoding)
    if isinstance(suggestion, v2.NesRenameSuggestion):
        return RenameSuggestion(spot=spot, new_name=suggestion.new_name, **given)
    return JumpSuggestion(spot=spot, **given)


def _edits(
    suggestion: v2.NesEditSuggestion,
    document: Document,
    encoding: Encoding,
    given: dict[str, Any],
) -> EditSuggestion | None:
    spans = [span_of(document, each.range, encoding) for each in suggestion.edits]
    texts = [
        _with_ends(each.new_text, document, span.start.line)
        for each, span in zip(suggestion.edits, spans, strict=True)
    ]
    edits = sorted(map(TextEdit, spans, texts), key=lambda edit: edit.span)
    ends = [each.span for each in edits]
    is_well_formed = all(each.start <= each.end for each in ends)
    if not is_well_formed or any(a.end > b.start for a, b in pairwise(ends)):
        return None
    place, cursor = suggestion.cursor_position, None
    if place is not None:
        cursor = spot_of(applied(document, tuple(edits)), place, encoding)
    cut = [trimmed(each, document.between(each.span)) for each in edits]
    real = tuple(each for each in cut if each.text or each.span.start != each.span.end)
    return EditSuggestion(edits=real, cursor=cursor, **given) if real else None


def _with_ends(text: str, document: Document, line: int) -> str:
    """Return a text with the line ends that the document has at a place."""
    if "\n" not in text and "\r" not in text:
        return text
    near = (
        document.lines[line]
        if line < len(document.lines) - 1 or not line
        else document.lines[line - 1]
    )
    end = near[len(content(near)) :]
    return _ENDS.sub(end, text) if end else text


def applied(document: Document, edits: tuple[TextEdit, ...]) -> Document:
    """Return a copy of a document with some edits made, which are sorted."""
    copy = document.copy()
    for edit in reversed(edits):
        copy.edit(edit.span, edit.text)
    return copy


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
