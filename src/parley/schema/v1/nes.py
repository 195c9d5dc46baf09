"""Former: next edit suggestions, the `nes/*` methods: edits, jumps and renames that they suggest.

They were removed from the schema; Parley still supports them. Capabilities and context are in
`parley.schema.drafts.nes`, positions and document events in `parley.schema.drafts.documents`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import I64, JsonObject, Object, Strict
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

NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"]
"""Former: the severity of a diagnostic."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"]
"""Former: the reason why a suggestion was rejected."""

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"]
"""Former: the reason for a request."""


class StartNesResponse(Object):
    """Former: the suggestion session was started."""

    session_id: SessionId
    config_options: list[SessionConfigOption] | None = None
    """Options for `session/set_config_option`, as an earlier draft has them."""


class NesDiagnostic(Object):
    """Former: an error or a warning in a file."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str


class NesSuggestContext(Object):
    """Former: the context that the agent asked for in its capabilities."""

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
    """The version of the document that the suggestions are for."""
    position: Position
    """The position of the cursor."""
    trigger_kind: NesTriggerKind
    selection: Strict[Range | None] = None
    context: Strict[NesSuggestContext | None] = None


class NesEditSuggestion(Object, tag_field="kind", tag="edit"):
    """Former: an edit of a file; every client supports it."""

    id: NesSuggestionId
    uri: str
    edits: list[NesTextEdit]
    cursor_position: Position | None = None
    """The cursor position after the edit."""


class NesJumpSuggestion(Object, tag_field="kind", tag="jump"):
    """Former: a jump to another position."""

    id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """Former: a rename of the symbol at a position."""

    id: NesSuggestionId
    uri: str
    position: Position
    new_name: str


class NesSearchAndReplaceSuggestion(Object, tag_field="kind", tag="searchAndReplace"):
    """Former: a replacement of all occurrences of a text."""

    id: NesSuggestionId
    uri: str
    """A file or a folder."""
    search: str
    replace: str
    is_regex: Strict[bool | None] = None
    """Whether `search` is a regular expression; false if absent."""


class NesActionSuggestion(Object, tag_field="kind", tag="action"):
    """Former: run one of the client's `ideActions`; older agents send renames in this form, too."""

    id: NesSuggestionId
    action_id: str
    arguments: JsonObject | None = None
    """The same fields as the suggestion of that name has, for `rename` and `searchAndReplace`."""


NesSuggestion: TypeAlias = (
    NesEditSuggestion
    | NesJumpSuggestion
    | NesRenameSuggestion
    | NesSearchAndReplaceSuggestion
    | NesActionSuggestion
)
"""Former: a suggestion."""


class SuggestNesResponse(Object):
    """Former: the suggestions, possibly none."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """Former: the user accepted a suggestion."""

    session_id: SessionId
    id: NesSuggestionId


class RejectNesNotification(Object):
    """Former: the user rejected or ignored a suggestion."""

    session_id: SessionId
    id: NesSuggestionId
    reason: NesRejectReason | None = None
