"""Capabilities for next edit suggestions: what the agent wants to know, what the client can show.

They were removed from the schema; Parley still supports them. A capability is on when its object is
present, even if empty. The messages are in `nes.py` and `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U32, JsonObject, Object

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
    """The agent wants recently used files."""

    max_count: U32 | None = None
    """The maximum number."""


class NesRelatedSnippetsCapabilities(Object):
    """The agent wants code that has to do with the place."""


class NesEditHistoryCapabilities(Object):
    """The agent wants the latest edits."""

    max_count: U32 | None = None
    """The maximum number."""


class NesUserActionsCapabilities(Object):
    """The agent wants recent actions of the user."""

    max_count: U32 | None = None
    """The maximum number."""


class NesOpenFilesCapabilities(Object):
    """The agent wants the open files."""


class NesDiagnosticsCapabilities(Object):
    """The agent wants errors and warnings."""


class NesContextCapabilities(Object):
    """The context that the agent wants with every request."""

    recent_files: NesRecentFilesCapabilities | None = None
    related_snippets: NesRelatedSnippetsCapabilities | None = None
    edit_history: NesEditHistoryCapabilities | None = None
    user_actions: NesUserActionsCapabilities | None = None
    open_files: NesOpenFilesCapabilities | None = None
    diagnostics: NesDiagnosticsCapabilities | None = None


class NesCapabilities(Object):
    """The agent makes suggestions; these are the events and context that it wants."""

    events: NesEventCapabilities | None = None
    context: NesContextCapabilities | None = None


class NesJumpCapabilities(Object):
    """The client can show jumps."""


class NesRenameCapabilities(Object):
    """The client can rename a symbol."""


class NesSearchAndReplaceCapabilities(Object):
    """The client can search and replace."""


class ClientNesCapabilities(Object):
    """The kinds of suggestions that the client shows besides edits."""

    jump: NesJumpCapabilities | None = None
    rename: NesRenameCapabilities | None = None
    search_and_replace: NesSearchAndReplaceCapabilities | None = None
    ide_actions: dict[str, JsonObject] | list[str] | None = None
    """The IDE actions that the client runs, by id, each with the schema of its arguments. Of the
    older text; renames and replacements have capabilities of their own."""
