"""The context of questions, as far as a replay knows it.

That is which files are open, their texts, and what was changed; there are no diagnostics, no
snippets and no keystrokes in a commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from parley.nes._documents.document import Document
from parley.nes._documents.edit_log import Edit
from parley.nes.client._context import MAX_EDITS, MAX_RECENT_FILES, diff_of
from parley.nes.engine import Change
from parley.schema import v2

T = TypeVar("T")


class Context:
    """The events of a session."""

    def __init__(self) -> None:
        self._edits: list[v2.NesEditHistoryEntry] = []

    def changed(self, uri: str, changes: Iterable[Change]) -> None:
        """Record a change of a document, as whole lines."""
        for each in changes:
            edit = Edit(uri=uri, line=each.span.start.line, old=each.old, new=each.new)
            diff = diff_of(edit, uri.rpartition("/")[2])
            self._edits.append(v2.NesEditHistoryEntry(uri=uri, diff=diff))

    def request_context(
        self,
        wanted: v2.NesContextCapabilities,
        documents: Iterable[Document],
        current: Document,
    ) -> v2.NesSuggestContext | None:
        """Return the context that the agent requested; None if it requested none.

        Args:
            wanted: The context that the agent requested.
            documents: The documents that are open.
            current: The one that the question is about, which comes first.
        """
        files, recent, edits = list(documents), wanted.recent_files, wanted.edit_history
        others = [each for each in files if each is not current]
        context = v2.NesSuggestContext(
            recent_files=None
            if recent is None
            else [_recent(each) for each in _first(current, others, recent.max_count)],
            edit_history=None if edits is None else _last(self._edits, edits.max_count, MAX_EDITS),
            open_files=None if wanted.open_files is None else [_open(each) for each in files],
        )
        return None if context == v2.NesSuggestContext() else context


def _open(document: Document) -> v2.NesOpenFile:
    return v2.NesOpenFile(uri=document.uri, language_id=document.language_id)


def _recent(document: Document) -> v2.NesRecentFile:
    return v2.NesRecentFile(uri=document.uri, language_id=document.language_id, text=document.text)


def _first(current: Document, others: list[Document], most: int | None) -> list[Document]:
    """Return the current document and those that were opened last, as many as are wanted."""
    count = MAX_RECENT_FILES if most is None else most
    return [current, *_last(others, count - 1, 0)][:count] if count else []


def _last(items: list[T], most: int | None, usual: int) -> list[T]:
    return items[max(0, len(items) - (usual if most is None else most)) :]
