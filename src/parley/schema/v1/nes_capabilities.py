"""What the two sides say about next edit suggestions when they initialize.

Left the schema, and still spoken here; the messages are in `nes.py` and `documents.py`.
Everything is off when it is absent or null; an empty object switches it on.
Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import NO_ITEMS, U32, JsonObject, Object

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
"""What the characters of a line are counted in; `utf-16` where nothing was agreed."""

TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"]
"""Whether a change carries the whole text or only what changed."""


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
    """The agent wants to know when the user turns to a file."""


class NesDocumentEventCapabilities(Object):
    """What the agent wants to know about files."""

    did_open: NesDocumentDidOpenCapabilities | None = None
    did_change: NesDocumentDidChangeCapabilities | None = None
    did_close: NesDocumentDidCloseCapabilities | None = None
    did_save: NesDocumentDidSaveCapabilities | None = None
    did_focus: NesDocumentDidFocusCapabilities | None = None


class NesEventCapabilities(Object):
    """What the agent wants to be told as it happens."""

    document: NesDocumentEventCapabilities | None = None


class NesRecentFilesCapabilities(Object):
    """The agent wants the files that were edited lately."""

    max_count: U32 | None = None


class NesRelatedSnippetsCapabilities(Object):
    """The agent wants excerpts of related files."""


class NesEditHistoryCapabilities(Object):
    """The agent wants the edits that were made lately."""

    max_count: U32 | None = None


class NesUserActionsCapabilities(Object):
    """The agent wants what the user did lately."""

    max_count: U32 | None = None


class NesOpenFilesCapabilities(Object):
    """The agent wants the files that are open."""


class NesDiagnosticsCapabilities(Object):
    """The agent wants the errors and warnings."""


class NesContextCapabilities(Object):
    """What the agent wants with every request for suggestions."""

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
    """The client can show a jump to another place."""


class NesRenameCapabilities(Object):
    """The client can rename a symbol."""


class NesSearchAndReplaceCapabilities(Object):
    """The client can search and replace."""


class ClientNesCapabilities(Object):
    """The kinds of suggestions that the client takes besides edits."""

    jump: NesJumpCapabilities | None = None
    rename: NesRenameCapabilities | None = None
    search_and_replace: NesSearchAndReplaceCapabilities | None = None
    ide_actions: dict[str, JsonObject] | list[str] | None = None
    """Older clients: the ids of the actions they take, as keys or as a list. Never written."""


class GeneralCapabilities(Object):
    """Where older clients listed their position encodings. Read, never written."""

    position_encodings: list[PositionEncodingKind] = NO_ITEMS
