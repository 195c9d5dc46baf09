"""Capabilities for next edit suggestions: what the agent wants to know, what the client can show.

They were removed from the schema; Parley still supports them. A capability is on when its object is
present, even if empty. The messages are in `nes.py` and `documents.py`.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import EMPTY_LIST, U32, JsonObject, Object

__all__ = [
    "ClientNesCapabilities",
    "GeneralCapabilities",
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
"""The unit in which characters of a line are counted; `utf-16` unless negotiated."""

TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"]
"""Whether a change has the whole text or only the changed ranges."""


class NesDocumentDidOpenCapabilities(Object):
    """The agent wants to know when a file is opened."""


class NesDocumentDidChangeCapabilities(Object):
    """The agent wants to know when a file is edited."""

    sync_kind: TextDocumentSyncKind


class NesDocumentDidCloseCapabilities(Object):
    """The agent wants to know when a file is closed."""


class NesDocumentDidSaveCapabilities(Object):
    """The agent wants to know when a file is saved."""


class NesDocumentDidFocusCapabilities(Object):
    """The agent wants to know when a file receives the focus."""


class NesDocumentEventCapabilities(Object):
    """The document events that the agent wants."""

    did_open: NesDocumentDidOpenCapabilities | None = None
    did_change: NesDocumentDidChangeCapabilities | None = None
    did_close: NesDocumentDidCloseCapabilities | None = None
    did_save: NesDocumentDidSaveCapabilities | None = None
    did_focus: NesDocumentDidFocusCapabilities | None = None


class NesEventCapabilities(Object):
    """The events that the agent wants."""

    document: NesDocumentEventCapabilities | None = None


class NesRecentFilesCapabilities(Object):
    """The agent wants recently edited files."""

    max_count: U32 | None = None


class NesRelatedSnippetsCapabilities(Object):
    """The agent wants excerpts of related files."""


class NesEditHistoryCapabilities(Object):
    """The agent wants recent edits."""

    max_count: U32 | None = None


class NesUserActionsCapabilities(Object):
    """The agent wants recent actions of the user."""

    max_count: U32 | None = None


class NesOpenFilesCapabilities(Object):
    """The agent wants the open files."""


class NesDiagnosticsCapabilities(Object):
    """The agent wants the errors and warnings."""


class NesContextCapabilities(Object):
    """The context that the agent wants with every request."""

    recent_files: NesRecentFilesCapabilities | None = None
    related_snippets: NesRelatedSnippetsCapabilities | None = None
    edit_history: NesEditHistoryCapabilities | None = None
    user_actions: NesUserActionsCapabilities | None = None
    open_files: NesOpenFilesCapabilities | None = None
    diagnostics: NesDiagnosticsCapabilities | None = None


class NesCapabilities(Object):
    """The agent makes suggestions."""

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
    """The ids of the IDE actions that the client runs, as keys or as a list. Of the older text,
    which knows renames and replacements only as such actions."""


class GeneralCapabilities(Object):
    """The position encodings of older clients; read, but never written."""

    position_encodings: list[PositionEncodingKind] = EMPTY_LIST
