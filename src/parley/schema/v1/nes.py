"""Next edit suggestions: the `nes/*` methods, and the edits, jumps and renames that they suggest.

They were removed from the schema; Parley still supports them. Capabilities are in
`nes_capabilities.py`, positions and document events in `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import I64, U32, U64, JsonObject, Object, Strict

from .config import SessionConfigOption
from .documents import Position, Range
from .ids import SessionId

__all__ = [
    "AcceptNesNotification",
    "CloseNesRequest",
    "CloseNesResponse",
    "NesActionSuggestion",
    "NesDiagnostic",
    "NesDiagnosticSeverity",
    "NesEditHistoryEntry",
    "NesEditSuggestion",
    "NesExcerpt",
    "NesJumpSuggestion",
    "NesOpenFile",
    "NesRecentFile",
    "NesRejectReason",
    "NesRelatedSnippet",
    "NesRenameSuggestion",
    "NesRepository",
    "NesSearchAndReplaceSuggestion",
    "NesSuggestContext",
    "NesSuggestion",
    "NesSuggestionId",
    "NesTextEdit",
    "NesTriggerKind",
    "NesUserAction",
    "RejectNesNotification",
    "StartNesRequest",
    "StartNesResponse",
    "SuggestNesRequest",
    "SuggestNesResponse",
    "WorkspaceFolder",
]

NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"]
"""The severity of a diagnostic."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"]
"""The reason why a suggestion was rejected."""

NesSuggestionId: TypeAlias = str
"""The id of a suggestion, for `nes/accept` and `nes/reject`."""

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"]
"""The reason for a request."""


class WorkspaceFolder(Object):
    """A workspace folder."""

    uri: str
    name: str


class NesRepository(Object):
    """The repository of the workspace."""

    name: str
    owner: str
    remote_url: str


class StartNesRequest(Object):
    """Start a suggestion session, which is not a conversation."""

    workspace_uri: str | None = None
    workspace_folders: Strict[list[WorkspaceFolder] | None] = None
    repository: NesRepository | None = None


class StartNesResponse(Object):
    """The suggestion session was started."""

    session_id: SessionId
    config_options: list[SessionConfigOption] | None = None
    """Options for `session/set_config_option`, as an earlier draft has them."""


class NesRecentFile(Object):
    """A recently edited file."""

    uri: str
    language_id: str
    text: str


class NesExcerpt(Object):
    """Some lines of a file, starting at 0."""

    start_line: U32
    end_line: U32
    text: str


class NesRelatedSnippet(Object):
    """Excerpts of a related file."""

    uri: str
    excerpts: list[NesExcerpt]


class NesEditHistoryEntry(Object):
    """A recent edit."""

    uri: str
    diff: str


class NesUserAction(Object):
    """A recent action of the user."""

    action: str
    uri: str
    position: Position
    timestamp_ms: U64
    """The time, in milliseconds since the Unix epoch."""


class NesOpenFile(Object):
    """An open file."""

    uri: str
    language_id: str
    visible_range: Range | None = None
    last_focused_ms: U64 | None = None
    """The time, in milliseconds since the Unix epoch."""


class NesDiagnostic(Object):
    """An error or a warning in a file."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str


class NesSuggestContext(Object):
    """The context that the agent asked for in its capabilities."""

    recent_files: Strict[list[NesRecentFile] | None] = None
    related_snippets: Strict[list[NesRelatedSnippet] | None] = None
    edit_history: Strict[list[NesEditHistoryEntry] | None] = None
    user_actions: Strict[list[NesUserAction] | None] = None
    open_files: Strict[list[NesOpenFile] | None] = None
    diagnostics: Strict[list[NesDiagnostic] | None] = None


class SuggestNesRequest(Object):
    """Ask for suggestions."""

    session_id: SessionId
    uri: str
    version: I64
    """The version of the document that the suggestions are for."""
    position: Position
    """The position of the cursor."""
    trigger_kind: NesTriggerKind
    selection: Strict[Range | None] = None
    context: Strict[NesSuggestContext | None] = None


class NesTextEdit(Object):
    """A replacement of text."""

    range: Range
    new_text: str


class NesEditSuggestion(Object, tag_field="kind", tag="edit"):
    """An edit of a file; every client supports it."""

    id: NesSuggestionId
    uri: str
    edits: list[NesTextEdit]
    cursor_position: Position | None = None
    """The cursor position after the edit."""


class NesJumpSuggestion(Object, tag_field="kind", tag="jump"):
    """A jump to another position."""

    id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """A rename of the symbol at a position."""

    id: NesSuggestionId
    uri: str
    position: Position
    new_name: str


class NesSearchAndReplaceSuggestion(Object, tag_field="kind", tag="searchAndReplace"):
    """A replacement of all occurrences of a text."""

    id: NesSuggestionId
    uri: str
    """A file or a folder."""
    search: str
    replace: str
    is_regex: Strict[bool | None] = None
    """Whether `search` is a regular expression; false if absent."""


class NesActionSuggestion(Object, tag_field="kind", tag="action"):
    """Run one of the client's `ideActions`; older agents send renames in this form, too."""

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
"""A suggestion."""


class SuggestNesResponse(Object):
    """The suggestions, possibly none."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """The user accepted a suggestion."""

    session_id: SessionId
    id: NesSuggestionId


class RejectNesNotification(Object):
    """The user rejected or ignored a suggestion."""

    session_id: SessionId
    id: NesSuggestionId
    reason: NesRejectReason | None = None


class CloseNesRequest(Object):
    """Close a suggestion session."""

    session_id: SessionId


class CloseNesResponse(Object):
    """The suggestion session was closed."""
