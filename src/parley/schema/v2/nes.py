"""Next edit suggestions: an editor asks what the user might want to change next.

They left the schema in autumn 2026 and are kept here. Capabilities are in `nes_capabilities.py`,
document events and positions in `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import I64, NO_ITEMS, U32, U64, Object, Open, Strict

from .config import SessionConfigOption
from .documents import Position, Range
from .ids import SessionId

__all__ = [
    "AcceptNesNotification",
    "CloseNesRequest",
    "CloseNesResponse",
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

NesSuggestionId: TypeAlias = str
"""Names one suggestion."""

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"] | str
"""Why the editor asks."""

NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"] | str
"""How bad a diagnostic is."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"] | str
"""Why a suggestion came to nothing."""


class WorkspaceFolder(Object):
    """A folder that is open in the editor."""

    uri: str
    name: str


class NesRepository(Object):
    """The repository that the workspace is a checkout of."""

    name: str
    owner: str
    remote_url: str


class StartNesRequest(Object):
    """Start a session of suggestions."""

    workspace_uri: str | None = None
    workspace_folders: Strict[list[WorkspaceFolder] | None] = None
    repository: NesRepository | None = None


class StartNesResponse(Object):
    """The session of suggestions exists; it is no conversation."""

    session_id: SessionId
    config_options: list[SessionConfigOption] = NO_ITEMS
    """What can be set with `session/set_config_option`, as the older text says."""


class NesRecentFile(Object):
    """A file that was open lately."""

    uri: str
    language_id: str
    text: str


class NesExcerpt(Object):
    """Some lines of a file."""

    start_line: U32
    """The first line, counted from 0."""
    end_line: U32
    """The last line."""
    text: str


class NesRelatedSnippet(Object):
    """Code that has to do with the place."""

    uri: str
    excerpts: list[NesExcerpt]


class NesEditHistoryEntry(Object):
    """An edit that was made."""

    uri: str
    diff: str


class NesUserAction(Object):
    """Something that the user did."""

    action: str
    """What, such as `insertChar` or `cursorMovement`."""
    uri: str
    position: Position
    timestamp_ms: U64
    """Milliseconds since 1970."""


class NesOpenFile(Object):
    """A file that is open."""

    uri: str
    language_id: str
    visible_range: Range | None = None
    last_focused_ms: U64 | None = None
    """When it was last in front, in milliseconds since 1970."""


class NesDiagnostic(Object):
    """An error or a warning about the code."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str


class NesSuggestContext(Object):
    """What the editor knows besides the document, as far as the agent wants it."""

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
    """The version of the document that the question is about."""
    position: Position
    """Where the cursor is."""
    selection: Strict[Range | None] = None
    trigger_kind: NesTriggerKind
    context: Strict[NesSuggestContext | None] = None


class NesTextEdit(Object):
    """One replacement in a document."""

    range: Range
    new_text: str


class NesEditSuggestion(Object, tag_field="kind", tag="edit"):
    """Change a document."""

    suggestion_id: NesSuggestionId
    uri: str
    edits: Annotated[list[NesTextEdit], Meta(min_length=1)]
    cursor_position: Position | None = None
    """Where to put the cursor afterwards."""


class NesJumpSuggestion(Object, tag_field="kind", tag="jump"):
    """Go somewhere."""

    suggestion_id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """Rename the symbol at a place."""

    suggestion_id: NesSuggestionId
    uri: str
    position: Position
    new_name: str


class NesSearchAndReplaceSuggestion(Object, tag_field="kind", tag="searchAndReplace"):
    """Replace every occurrence."""

    suggestion_id: NesSuggestionId
    uri: str
    search: str
    replace: str
    is_regex: Strict[bool | None] = None


NesSuggestion: TypeAlias = Open[
    NesEditSuggestion | NesJumpSuggestion | NesRenameSuggestion | NesSearchAndReplaceSuggestion
]
"""Something that the user might want next. One of an unknown kind is kept even without id."""


class SuggestNesResponse(Object):
    """The suggestions, best first; none is an answer too."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """The user took a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId


class RejectNesNotification(Object):
    """The user did not take a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId
    reason: NesRejectReason | None = None


class CloseNesRequest(Object):
    """End a session of suggestions."""

    session_id: SessionId


class CloseNesResponse(Object):
    """The session of suggestions has ended."""
