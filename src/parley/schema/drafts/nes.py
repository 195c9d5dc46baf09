"""Former: the parts of next edit suggestions that both versions share: capabilities and context.

They were removed from the schema; Parley still supports them. A capability is on when its object is
present, even if empty. The requests and the suggestions differ and are in `v1/nes.py` and
`v2/nes.py`; positions and document events are in `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U32, U64, JsonObject, Object, Strict
from parley.schema.ids import SessionId

from .documents import Position, Range

__all__ = [
    "ClientNesCapabilities",
    "CloseNesRequest",
    "CloseNesResponse",
    "NesCapabilities",
    "NesContextCapabilities",
    "NesDiagnosticsCapabilities",
    "NesDocumentDidChangeCapabilities",
    "NesDocumentDidCloseCapabilities",
    "NesDocumentDidFocusCapabilities",
    "NesDocumentDidOpenCapabilities",
    "NesDocumentDidSaveCapabilities",
    "NesDocumentEventCapabilities",
    "NesEditHistoryCapabilities",
    "NesEditHistoryEntry",
    "NesEventCapabilities",
    "NesExcerpt",
    "NesJumpCapabilities",
    "NesOpenFile",
    "NesOpenFilesCapabilities",
    "NesRecentFile",
    "NesRecentFilesCapabilities",
    "NesRelatedSnippet",
    "NesRelatedSnippetsCapabilities",
    "NesRenameCapabilities",
    "NesRepository",
    "NesSearchAndReplaceCapabilities",
    "NesSuggestionId",
    "NesTextEdit",
    "NesUserAction",
    "NesUserActionsCapabilities",
    "PositionEncodingKind",
    "StartNesRequest",
    "TextDocumentSyncKind",
    "WorkspaceFolder",
]

PositionEncodingKind: TypeAlias = Literal["utf-16", "utf-32", "utf-8"]
"""Former: the unit in which characters of a line are counted; `utf-16` unless negotiated."""

TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"]
"""Former: whether a change has the whole text or only the changed ranges."""

NesSuggestionId: TypeAlias = str
"""Former: the id of a suggestion, for `nes/accept` and `nes/reject`."""


class NesDocumentDidOpenCapabilities(Object):
    """Former: the agent wants to know when a file is opened."""


class NesDocumentDidChangeCapabilities(Object):
    """Former: the agent wants to know when a file is edited."""

    sync_kind: TextDocumentSyncKind


class NesDocumentDidCloseCapabilities(Object):
    """Former: the agent wants to know when a file is closed."""


class NesDocumentDidSaveCapabilities(Object):
    """Former: the agent wants to know when a file is saved."""


class NesDocumentDidFocusCapabilities(Object):
    """Former: the agent wants to know when a file receives the focus."""


class NesDocumentEventCapabilities(Object):
    """Former: the document events that the agent wants."""

    did_open: NesDocumentDidOpenCapabilities | None = None
    did_change: NesDocumentDidChangeCapabilities | None = None
    did_close: NesDocumentDidCloseCapabilities | None = None
    did_save: NesDocumentDidSaveCapabilities | None = None
    did_focus: NesDocumentDidFocusCapabilities | None = None


class NesEventCapabilities(Object):
    """Former: the events that the agent wants."""

    document: NesDocumentEventCapabilities | None = None


class NesRecentFilesCapabilities(Object):
    """Former: the agent wants recently edited files."""

    max_count: U32 | None = None


class NesRelatedSnippetsCapabilities(Object):
    """Former: the agent wants excerpts of related files."""


class NesEditHistoryCapabilities(Object):
    """Former: the agent wants recent edits."""

    max_count: U32 | None = None


class NesUserActionsCapabilities(Object):
    """Former: the agent wants recent actions of the user."""

    max_count: U32 | None = None


class NesOpenFilesCapabilities(Object):
    """Former: the agent wants the open files."""


class NesDiagnosticsCapabilities(Object):
    """Former: the agent wants the errors and warnings."""


class NesContextCapabilities(Object):
    """Former: the context that the agent wants with every request."""

    recent_files: NesRecentFilesCapabilities | None = None
    related_snippets: NesRelatedSnippetsCapabilities | None = None
    edit_history: NesEditHistoryCapabilities | None = None
    user_actions: NesUserActionsCapabilities | None = None
    open_files: NesOpenFilesCapabilities | None = None
    diagnostics: NesDiagnosticsCapabilities | None = None


class NesCapabilities(Object):
    """Former: the agent makes suggestions."""

    events: NesEventCapabilities | None = None
    context: NesContextCapabilities | None = None


class NesJumpCapabilities(Object):
    """Former: the client can show jumps."""


class NesRenameCapabilities(Object):
    """Former: the client can rename a symbol."""


class NesSearchAndReplaceCapabilities(Object):
    """Former: the client can search and replace."""


class ClientNesCapabilities(Object):
    """Former: the kinds of suggestions that the client shows besides edits."""

    jump: NesJumpCapabilities | None = None
    rename: NesRenameCapabilities | None = None
    search_and_replace: NesSearchAndReplaceCapabilities | None = None
    ide_actions: dict[str, JsonObject] | list[str] | None = None
    """The ids of the IDE actions that the client runs, as keys or as a list. Of the older text,
    which knows renames and replacements only as such actions."""


class WorkspaceFolder(Object):
    """Former: a workspace folder."""

    uri: str
    name: str


class NesRepository(Object):
    """Former: the repository of the workspace."""

    name: str
    owner: str
    remote_url: str


class StartNesRequest(Object):
    """Former: start a suggestion session, which is not a conversation."""

    workspace_uri: str | None = None
    workspace_folders: Strict[list[WorkspaceFolder] | None] = None
    repository: NesRepository | None = None


class NesRecentFile(Object):
    """Former: a recently edited file."""

    uri: str
    language_id: str
    text: str


class NesExcerpt(Object):
    """Former: some lines of a file, starting at 0."""

    start_line: U32
    end_line: U32
    text: str


class NesRelatedSnippet(Object):
    """Former: excerpts of a related file."""

    uri: str
    excerpts: list[NesExcerpt]


class NesEditHistoryEntry(Object):
    """Former: a recent edit."""

    uri: str
    diff: str


class NesUserAction(Object):
    """Former: a recent action of the user."""

    action: str
    uri: str
    position: Position
    timestamp_ms: U64
    """The time, in milliseconds since the Unix epoch."""


class NesOpenFile(Object):
    """Former: an open file."""

    uri: str
    language_id: str
    visible_range: Range | None = None
    last_focused_ms: U64 | None = None
    """The time, in milliseconds since the Unix epoch."""


class NesTextEdit(Object):
    """Former: a replacement of text."""

    range: Range
    new_text: str


class CloseNesRequest(Object):
    """Former: close a suggestion session."""

    session_id: SessionId


class CloseNesResponse(Object):
    """Former: the suggestion session was closed."""
