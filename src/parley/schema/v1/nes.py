"""Next edit suggestions: what the user may want to change next.

Left the schema, and still spoken here. Needs `agentCapabilities.nes`; what the sides say about it
when they initialize is in `nes_capabilities.py`, positions and file events are in `documents.py`.
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
"""How bad a diagnostic is."""

NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"]
"""Why a suggestion was not taken."""

NesSuggestionId: TypeAlias = str
"""Names a suggestion, so that its fate can be told."""

NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"]
"""What made the client ask."""


class WorkspaceFolder(Object):
    """A folder that the user works in."""

    uri: str
    name: str


class NesRepository(Object):
    """The repository that the user works in."""

    name: str
    owner: str
    remote_url: str


class StartNesRequest(Object):
    """Begin a session of suggestions; it has nothing to do with conversations."""

    workspace_uri: str | None = None
    workspace_folders: Strict[list[WorkspaceFolder] | None] = None
    repository: NesRepository | None = None


class StartNesResponse(Object):
    """The session has begun."""

    session_id: SessionId
    config_options: list[SessionConfigOption] | None = None
    """What can be set with `session/set_config_option`, as the older text says."""


class NesRecentFile(Object):
    """A file that was edited lately."""

    uri: str
    language_id: str
    text: str


class NesExcerpt(Object):
    """A few lines of a file, counted from 0."""

    start_line: U32
    end_line: U32
    text: str


class NesRelatedSnippet(Object):
    """Excerpts of a related file."""

    uri: str
    excerpts: list[NesExcerpt]


class NesEditHistoryEntry(Object):
    """An edit that was made lately."""

    uri: str
    diff: str


class NesUserAction(Object):
    """Something that the user did lately."""

    action: str
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
    """Milliseconds since 1970."""


class NesDiagnostic(Object):
    """An error or a warning in a file."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str


class NesSuggestContext(Object):
    """What the agent asked to have with every request, and nothing else."""

    recent_files: Strict[list[NesRecentFile] | None] = None
    related_snippets: Strict[list[NesRelatedSnippet] | None] = None
    edit_history: Strict[list[NesEditHistoryEntry] | None] = None
    user_actions: Strict[list[NesUserAction] | None] = None
    open_files: Strict[list[NesOpenFile] | None] = None
    diagnostics: Strict[list[NesDiagnostic] | None] = None


class SuggestNesRequest(Object):
    """What may the user want to change next?"""

    session_id: SessionId
    uri: str
    version: I64
    """The version of the document that the answer will be about."""
    position: Position
    """Where the cursor is."""
    trigger_kind: NesTriggerKind
    selection: Strict[Range | None] = None
    context: Strict[NesSuggestContext | None] = None


class NesTextEdit(Object):
    """A text in the place of another."""

    range: Range
    new_text: str


class NesEditSuggestion(Object, tag_field="kind", tag="edit"):
    """Change a file; every client takes it."""

    id: NesSuggestionId
    uri: str
    edits: list[NesTextEdit]
    cursor_position: Position | None = None
    """Where the cursor should be afterwards."""


class NesJumpSuggestion(Object, tag_field="kind", tag="jump"):
    """Go to another place."""

    id: NesSuggestionId
    uri: str
    position: Position


class NesRenameSuggestion(Object, tag_field="kind", tag="rename"):
    """Rename the symbol at a place."""

    id: NesSuggestionId
    uri: str
    position: Position
    new_name: str


class NesSearchAndReplaceSuggestion(Object, tag_field="kind", tag="searchAndReplace"):
    """Replace a text wherever it stands."""

    id: NesSuggestionId
    uri: str
    """A file or a folder."""
    search: str
    replace: str
    is_regex: Strict[bool | None] = None
    """Whether `search` is a regular expression; it is not, if nothing is said."""


class NesActionSuggestion(Object, tag_field="kind", tag="action"):
    """Do one of the client's `ideActions`: what older agents send, and older clients take."""

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
"""Something the user may want to do next."""


class SuggestNesResponse(Object):
    """What comes to the agent's mind; nothing is an empty list."""

    suggestions: list[NesSuggestion]


class AcceptNesNotification(Object):
    """The user took a suggestion."""

    session_id: SessionId
    id: NesSuggestionId


class RejectNesNotification(Object):
    """The user did not take a suggestion."""

    session_id: SessionId
    id: NesSuggestionId
    reason: NesRejectReason | None = None


class CloseNesRequest(Object):
    """End a session of suggestions."""

    session_id: SessionId


class CloseNesResponse(Object):
    """The session has ended."""
