"""Next edit suggestions: the `nes/*` methods, and the edits, jumps and renames that they suggest.

They were removed from the schema; Parley still supports them. Capabilities are in
`nes_capabilities.py`, positions and document events in `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import EMPTY_LIST, I64, U32, U64, JsonObject, Object, Open, Strict

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

NesSuggestionId: TypeAlias = str
"""The id of a suggestion."""

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"] | str
"""The reason for a request."""

NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"] | str
"""The severity of a diagnostic."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"] | str
"""The reason why a suggestion was rejected."""


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
    """Start a suggestion session."""

    workspace_uri: str | None = None
    workspace_folders: Strict[list[WorkspaceFolder] | None] = None
    repository: NesRepository | None = None


class StartNesResponse(Object):
    """The suggestion session was started; it is not a conversation."""

    session_id: SessionId
    config_options: list[SessionConfigOption] = EMPTY_LIST
    """Options for `session/set_config_option`, as an earlier draft has them."""


class NesRecentFile(Object):
    """A recently used file."""

    uri: str
    language_id: str
    text: str


class NesExcerpt(Object):
    """Some lines of a file."""

    start_line: U32
    """The first line, starting at 0."""
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
    """The time, in milliseconds since the Unix epoch."""


class NesOpenFile(Object):
    """An open file."""

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
    """The context besides the document that the agent has requested in its capabilities."""

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
    """The position of the cursor."""
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
    """A suggestion to move the cursor to another position."""

    suggestion_id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """A rename of the symbol at a position."""

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


class NesActionSuggestion(Object, tag_field="kind", tag="action"):
    """Run one of the client's `ideActions`; only for clients that list them."""

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
"""Something that the user might want next. One of an unknown kind is kept even without id."""


class SuggestNesResponse(Object):
    """The suggestions, best first; none is an answer too."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """The user accepted a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId


class RejectNesNotification(Object):
    """The user rejected or ignored a suggestion."""

    session_id: SessionId
    suggestion_id: NesSuggestionId
    reason: NesRejectReason | None = None


class CloseNesRequest(Object):
    """Close a suggestion session."""

    session_id: SessionId


class CloseNesResponse(Object):
    """The session of suggestions has ended."""
