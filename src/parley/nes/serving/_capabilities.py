"""The capabilities of agents and clients: context, document events, kinds of suggestions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

from parley.nes.engine import DocumentEventKind
from parley.schema import v2
from parley.session._capabilities import ClientFeatures

MAX_RECENT = 16
"""The recent files that are asked for; further ones are passed over."""

CONTEXT: dict[str, tuple[str, Any]] = {
    "recentFiles": ("recent_files", v2.NesRecentFilesCapabilities(max_count=MAX_RECENT)),
    "relatedSnippets": ("related_snippets", v2.NesRelatedSnippetsCapabilities()),
    "editHistory": ("edit_history", v2.NesEditHistoryCapabilities(max_count=32)),
    "userActions": ("user_actions", v2.NesUserActionsCapabilities(max_count=64)),
    "openFiles": ("open_files", v2.NesOpenFilesCapabilities()),
    "diagnostics": ("diagnostics", v2.NesDiagnosticsCapabilities()),
}
"""The context that may come with a question, by its name on the wire, and its capability."""

EVENTS: tuple[DocumentEventKind, ...] = get_args(DocumentEventKind)
"""The document events that a client can report, by their names on the wire."""

TRACKING: frozenset[DocumentEventKind] = frozenset({"didOpen", "didChange", "didClose"})
"""The events that give an agent the current text of every open document."""


def capabilities(
    context: Collection[str],
    events: Collection[DocumentEventKind],
    sync: v2.TextDocumentSyncKind,
) -> v2.NesCapabilities:
    """Return what the agent offers: which context and which events it wants."""
    wanted = {CONTEXT[each][0]: CONTEXT[each][1] for each in context}
    return v2.NesCapabilities(
        events=_events(events, sync) if events else None,
        context=v2.NesContextCapabilities(**wanted) if wanted else None,
    )


def _events(
    events: Collection[DocumentEventKind], sync: v2.TextDocumentSyncKind
) -> v2.NesEventCapabilities:
    known: dict[DocumentEventKind, tuple[str, Any]] = {
        "didOpen": ("did_open", v2.NesDocumentDidOpenCapabilities()),
        "didChange": ("did_change", v2.NesDocumentDidChangeCapabilities(sync_kind=sync)),
        "didClose": ("did_close", v2.NesDocumentDidCloseCapabilities()),
        "didSave": ("did_save", v2.NesDocumentDidSaveCapabilities()),
        "didFocus": ("did_focus", v2.NesDocumentDidFocusCapabilities()),
    }
    wanted = {known[each][0]: known[each][1] for each in events}
    return v2.NesEventCapabilities(document=v2.NesDocumentEventCapabilities(**wanted))


def kinds_of(client: ClientFeatures) -> frozenset[str]:
    """Return the kinds of suggestions that a client can show; edits always."""
    nes = client.nes or v2.ClientNesCapabilities()
    offered = {
        "edit": True,
        "jump": nes.jump is not None,
        "rename": nes.rename is not None,
        "searchAndReplace": nes.search_and_replace is not None,
        "action": bool(nes.ide_actions),
    }
    return frozenset(kind for kind, is_offered in offered.items() if is_offered)


def actions_of(client: v2.ClientNesCapabilities) -> dict[str, dict[str, Any]]:
    """Return the IDE actions that a client runs, by id, with the schemas of their arguments."""
    actions = client.ide_actions
    return dict(actions) if isinstance(actions, dict) else {each: {} for each in actions or ()}
