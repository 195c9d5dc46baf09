"""What an agent says that it wants to know, and which suggestions a client can show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from parley.schema.v2 import unstable
from parley.session.features import ClientFeatures

__all__ = ["CONTEXT", "MAX_RECENT", "capabilities", "kinds_of"]

MAX_RECENT = 16
"""How many recent files are asked for; further ones are passed over."""

CONTEXT: dict[str, tuple[str, Any]] = {
    "recentFiles": ("recent_files", unstable.NesRecentFilesCapabilities(max_count=MAX_RECENT)),
    "relatedSnippets": ("related_snippets", unstable.NesRelatedSnippetsCapabilities()),
    "editHistory": ("edit_history", unstable.NesEditHistoryCapabilities(max_count=32)),
    "userActions": ("user_actions", unstable.NesUserActionsCapabilities(max_count=64)),
    "openFiles": ("open_files", unstable.NesOpenFilesCapabilities()),
    "diagnostics": ("diagnostics", unstable.NesDiagnosticsCapabilities()),
}
"""What may come with a question, by its name on the wire, and how it is asked for."""

_EVENTS = unstable.NesEventCapabilities(
    document=unstable.NesDocumentEventCapabilities(
        did_open=unstable.NesDocumentDidOpenCapabilities(),
        did_change=unstable.NesDocumentDidChangeCapabilities(sync_kind="incremental"),
        did_close=unstable.NesDocumentDidCloseCapabilities(),
        did_save=unstable.NesDocumentDidSaveCapabilities(),
        did_focus=unstable.NesDocumentDidFocusCapabilities(),
    )
)


def capabilities(context: Collection[str], *, documents: bool) -> unstable.NesCapabilities:
    """Return what the agent offers: which context it wants, and whether it follows documents."""
    wanted = {CONTEXT[each][0]: CONTEXT[each][1] for each in context}
    return unstable.NesCapabilities(
        events=_EVENTS if documents else None,
        context=unstable.NesContextCapabilities(**wanted) if wanted else None,
    )


def kinds_of(client: ClientFeatures) -> frozenset[str]:
    """Return the kinds of suggestions that a client can show; edits always."""
    nes = client.nes or unstable.ClientNesCapabilities()
    offered = {
        "edit": True,
        "jump": nes.jump is not None,
        "rename": nes.rename is not None,
        "searchAndReplace": nes.search_and_replace is not None,
    }
    return frozenset(kind for kind, is_offered in offered.items() if is_offered)
