"""What each side can do about next edit suggestions, as said when the connection starts.

They left the schema in autumn 2026 and are kept here. A capability that is an object means yes,
`{}` included; None means no. The messages themselves are in `nes.py` and `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U32, Object

__all__ = [
    "ClientNesCapabilities",
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
    "NesEventCapabilities",
    "NesJumpCapabilities",
    "NesOpenFilesCapabilities",
    "NesRecentFilesCapabilities",
    "NesRelatedSnippetsCapabilities",
    "NesRenameCapabilities",
    "NesSearchAndReplaceCapabilities",
    "NesUserActionsCapabilities",
    "PositionEncodingKind",
    "TextDocumentSyncKind",
]

PositionEncodingKind: TypeAlias = Literal["utf-16", "utf-32", "utf-8"]
"""What the character of a position counts; closed, and `utf-16` where nothing was agreed."""

TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"]
"""Whether a change brings the whole text or only what changed; closed."""


class NesDocumentDidOpenCapabilities(Object):
    """The agent wants to hear that a document was opened."""


class NesDocumentDidChangeCapabilities(Object):
    """The agent wants to hear that a document changed."""

    sync_kind: TextDocumentSyncKind


class NesDocumentDidCloseCapabilities(Object):
    """The agent wants to hear that a document was closed."""


class NesDocumentDidSaveCapabilities(Object):
    """The agent wants to hear that a document was saved."""


class NesDocumentDidFocusCapabilities(Object):
    """The agent wants to hear that a document came to the front."""


class NesDocumentEventCapabilities(Object):
    """Which document events the agent wants."""

    did_open: NesDocumentDidOpenCapabilities | None = None
    did_change: NesDocumentDidChangeCapabilities | None = None
    did_close: NesDocumentDidCloseCapabilities | None = None
    did_save: NesDocumentDidSaveCapabilities | None = None
    did_focus: NesDocumentDidFocusCapabilities | None = None


class NesEventCapabilities(Object):
    """Which events the agent wants."""

    document: NesDocumentEventCapabilities | None = None


class NesRecentFilesCapabilities(Object):
    """The agent wants the files that were open lately."""

    max_count: U32 | None = None
    """How many at most."""


class NesRelatedSnippetsCapabilities(Object):
    """The agent wants code that has to do with the place."""


class NesEditHistoryCapabilities(Object):
    """The agent wants the latest edits."""

    max_count: U32 | None = None
    """How many at most."""


class NesUserActionsCapabilities(Object):
    """The agent wants what the user did lately."""

    max_count: U32 | None = None
    """How many at most."""


class NesOpenFilesCapabilities(Object):
    """The agent wants the files that are open."""


class NesDiagnosticsCapabilities(Object):
    """The agent wants errors and warnings."""


class NesContextCapabilities(Object):
    """What the agent wants to know with each question."""

    recent_files: NesRecentFilesCapabilities | None = None
    related_snippets: NesRelatedSnippetsCapabilities | None = None
    edit_history: NesEditHistoryCapabilities | None = None
    user_actions: NesUserActionsCapabilities | None = None
    open_files: NesOpenFilesCapabilities | None = None
    diagnostics: NesDiagnosticsCapabilities | None = None


class NesCapabilities(Object):
    """The agent suggests edits; here is what it wants for that."""

    events: NesEventCapabilities | None = None
    context: NesContextCapabilities | None = None


class NesJumpCapabilities(Object):
    """The client can follow a jump."""


class NesRenameCapabilities(Object):
    """The client can rename a symbol."""


class NesSearchAndReplaceCapabilities(Object):
    """The client can search and replace."""


class ClientNesCapabilities(Object):
    """Which suggestions the client can show, besides edits."""

    jump: NesJumpCapabilities | None = None
    rename: NesRenameCapabilities | None = None
    search_and_replace: NesSearchAndReplaceCapabilities | None = None
