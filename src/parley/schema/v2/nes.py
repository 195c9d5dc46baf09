"""Former: next edit suggestions, the `nes/*` methods: edits, jumps and renames that they suggest.

They were removed from the schema; Parley still supports them. Capabilities and context are in
`parley.schema.drafts.nes`, positions and document events in `parley.schema.drafts.documents`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import EMPTY_LIST, I64, JsonObject, Object, Open, Strict
from parley.schema.drafts.documents import Position, Range
from parley.schema.drafts.nes import (
    NesEditHistoryEntry,
    NesOpenFile,
    NesRecentFile,
    NesRelatedSnippet,
    NesSuggestionId,
    NesTextEdit,
    NesUserAction,
)

from .config import SessionConfigOption
from .ids import SessionId

__all__ = [
    "AcceptNesNotification",
    "NesActionSuggestion",
    "NesDiagnostic",
    "NesDiagnosticSeverity",
    "NesEditSuggestion",
    "NesJumpSuggestion",
    "NesRejectReason",
    "NesRenameSuggestion",
    "NesSearchAndReplaceSuggestion",
    "NesSuggestContext",
    "NesSuggestion",
    "NesTriggerKind",
    "RejectNesNotification",
    "StartNesResponse",
    "SuggestNesRequest",
    "SuggestNesResponse",
]

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"] | str
"""Former: the reason for a request."""

NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"] | str
"""Former: the severity of a diagnostic."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"] | str
"""Former: the reason why a suggestion was rejected."""


class StartNesResponse(Object):
    """Former: the suggestion session was started; it is not a conversation."""

    session_id: SessionId
    config_options: list[SessionConfigOption] = EMPTY_LIST
    """Options for `session/set_config_option`, as an earlier draft has them."""


class NesDiagnostic(Object):
    """Former: an error or a warning about the code."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str


class NesSuggestContext(Object):
    """Former: the context that the agent has requested in its capabilities."""

    recent_files: Strict[list[NesRecentFile] | None] = None
    related_snippets: Strict[list[NesRelatedSnippet] | None] = None
    edit_history: Strict[list[NesEditHistoryEntry] | None] = None
    user_actions: Strict[list[NesUserAction] | None] = None
    open_files: Strict[list[NesOpenFile] | None] = None
    diagnostics: Strict[list[NesDiagnostic] | None] = None


class SuggestNesRequest(Object):
    """Former: ask for suggestions."""

    session_id: SessionId
    uri: str
    version: I64
    """The version of the document that the question is about."""
    position: Position
    """The position of the cursor."""
    selection: Strict[Range | None] = None
    trigger_kind: NesTriggerKind
    context: Strict[NesSuggestContext | None] = None


class NesEditSuggestion(Object, tag_field="kind", tag="edit"):
    """Former: an edit of a document; every client supports it."""

    suggestion_id: NesSuggestionId
    uri: str
    edits: Annotated[list[NesTextEdit], Meta(min_length=1)]
    cursor_position: Position | None = None
    """The position of the cursor afterwards."""


class NesJumpSuggestion(Object, tag_field="kind", tag="jump"):
    """Former: a jump to another position."""

    suggestion_id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """Former: a rename of the symbol at a position."""

    suggestion_id: NesSuggestionId
    uri: str
    position: Position
    new_name: str


class NesSearchAndReplaceSuggestion(Object, tag_field="kind", tag="searchAndReplace"):
    """Former: a replacement of all occurrences of a text."""

    suggestion_id: NesSuggestionId
    uri: str
    search: str
    replace: str
    is_regex: Strict[bool | None] = None


class NesActionSuggestion(Object, tag_field="kind", tag="action"):
    """Former: run one of the client's `ideActions`; only for clients that list them."""

    suggestion_id: NesSuggestionId
    action_id: str
    arguments: JsonObject | None = None


NesSuggestion: TypeAlias = Open[
    NesEditSuggestion
    | NesJumpSuggestion
    | NesRenameSuggestion
    | NesSearchAndReplaceSuggestion
    | NesActionSuggestion
]
"""Former: a suggestion; one of an unknown kind is kept even without id."""


class SuggestNesResponse(Object):
    """Former: the suggestions, best first, possibly none."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """Former: the user accepted a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId


class RejectNesNotification(Object):
    """Former: the user rejected or ignored a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId
    reason: NesRejectReason | None = None
