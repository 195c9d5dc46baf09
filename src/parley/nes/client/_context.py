"""The context of a question besides the document, as far as the agent wants it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from parley.nes._documents.change import Change, Spot
from parley.nes._documents.document import split_lines
from parley.nes._documents.edit_log import Edit, EditLog
from parley.nes._documents.encoding import position_of, range_of
from parley.nes._documents.patches import write_patch
from parley.nes.engine import Diagnostic, Snippet
from parley.schema import v2

from ._buffer import Buffer
from ._scheduler import Clock
from ._session import NesSession, sendable

T = TypeVar("T")

Related: TypeAlias = Callable[[str, Spot], Sequence[Snippet]]
"""Finds code that has to do with a place, in any file."""

MAX_RECENT_FILES = 5
MAX_EDITS = 10
MAX_ACTIONS = 32
MAX_DIAGNOSTICS = 100
"""The number that is sent where the agent sets no bound."""


class Context:
    """The editor's context besides the document."""

    def __init__(self, clock: Clock, related: Related | None = None) -> None:
        self._clock = clock
        self._began = time.time() - clock.time()
        self._related = related
        self.edits = EditLog(clock.time)
        """The edits, with keystrokes joined."""
        self.diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
        """Errors and warnings, by document."""
        self._actions: deque[v2.NesUserAction] = deque(maxlen=256)

    def now_ms(self) -> int:
        """Return the milliseconds since 1970."""
        return int((self._began + self._clock.time()) * 1000)

    def acted(self, action: str, session: NesSession, buffer: Buffer) -> None:
        """Remember something that the user did."""
        document = buffer.document
        self._actions.append(
            v2.NesUserAction(
                action=action,
                uri=document.uri,
                position=position_of(document, buffer.cursor, session.encoding),
                timestamp_ms=self.now_ms(),
            )
        )

    def typed(self, changes: Iterable[Change], session: NesSession, buffer: Buffer) -> None:
        """Remember what the user typed."""
        for change in changes:
            if change.new and change.old:
                action = "replaceText"
            elif change.new:
                action = "insertChar" if len(change.new) == 1 else "insertText"
            else:
                action = "deleteChar" if len(change.old) == 1 else "deleteText"
            self.acted(action, session, buffer)

    def of(
        self, buffer: Buffer, buffers: Mapping[str, Buffer], session: NesSession
    ) -> v2.NesSuggestContext | None:
        """Return what goes with a question; None if the agent wants nothing."""
        wants = session.context
        context = v2.NesSuggestContext(
            recent_files=_at_most(
                wants.recent_files,
                MAX_RECENT_FILES,
                lambda: _recent(buffer, buffers, session.agent_has_texts),
            ),
            related_snippets=self._snippets(wants, buffer),
            edit_history=_last(wants.edit_history, MAX_EDITS, self._history),
            user_actions=_last(wants.user_actions, MAX_ACTIONS, lambda: list(self._actions)),
            open_files=None if wants.open_files is None else _open(buffers, session),
            diagnostics=(None if wants.diagnostics is None else self._diagnostics(buffer, session)),
        )
        return None if context == v2.NesSuggestContext() else context

    def _snippets(
        self, wants: v2.NesContextCapabilities, buffer: Buffer
    ) -> list[v2.NesRelatedSnippet] | None:
        if wants.related_snippets is None:
            return None
        found: dict[str, list[v2.NesExcerpt]] = {}
        find = self._related
        for each in () if find is None else find(buffer.document.uri, buffer.cursor):
            end = each.line + max(len(each.text.splitlines()) - 1, 0)
            excerpt = v2.NesExcerpt(start_line=each.line, end_line=end, text=sendable(each.text))
            found.setdefault(each.uri, []).append(excerpt)
        return [v2.NesRelatedSnippet(uri=uri, excerpts=excerpts) for uri, excerpts in found.items()]

    def _history(self) -> list[v2.NesEditHistoryEntry]:
        pending = self.edits.pending
        edits = [*self.edits, *([] if pending is None else [pending])]
        return [
            v2.NesEditHistoryEntry(
                uri=each.uri, diff=sendable(diff_of(each, each.uri.rpartition("/")[2]))
            )
            for each in edits
        ]

    def _diagnostics(self, buffer: Buffer, session: NesSession) -> list[v2.NesDiagnostic]:
        """Return what is known of the document, what is near the cursor first."""
        document, line = buffer.document, buffer.cursor.line
        known = sorted(
            self.diagnostics.get(document.uri, ()),
            key=lambda each: abs(each.span.start.line - line),
        )
        return [
            v2.NesDiagnostic(
                uri=each.uri,
                range=range_of(document, each.span, session.encoding),
                severity=each.severity,
                message=sendable(each.message),
            )
            for each in known[:MAX_DIAGNOSTICS]
        ]


def _recent(
    buffer: Buffer, buffers: Mapping[str, Buffer], agent_has_texts: bool
) -> list[v2.NesRecentFile]:
    """Return the other files, those that were in front last first.

    An agent that cannot know the document of the question otherwise finds it at the top.
    """
    others = [each for each in buffers.values() if each is not buffer]
    others.sort(key=lambda each: each.focused_ms or 0, reverse=True)
    files = others if agent_has_texts else [buffer, *others]
    return [
        v2.NesRecentFile(
            uri=each.document.uri,
            language_id=each.document.language_id,
            text=sendable(each.document.text),
        )
        for each in files
    ]


def _open(buffers: Mapping[str, Buffer], session: NesSession) -> list[v2.NesOpenFile]:
    return [
        v2.NesOpenFile(
            uri=each.document.uri,
            language_id=each.document.language_id,
            visible_range=(
                None
                if each.visible is None
                else range_of(each.document, each.visible, session.encoding)
            ),
            last_focused_ms=each.focused_ms,
        )
        for each in buffers.values()
    ]


def _count(
    wanted: v2.NesRecentFilesCapabilities
    | v2.NesEditHistoryCapabilities
    | v2.NesUserActionsCapabilities,
    usual: int,
) -> int:
    return usual if wanted.max_count is None else wanted.max_count


def _at_most(
    wanted: v2.NesRecentFilesCapabilities | None, usual: int, find: Callable[[], list[T]]
) -> list[T] | None:
    """Return the first of what is found, if it is wanted."""
    return None if wanted is None else find()[: _count(wanted, usual)]


def _last(
    wanted: v2.NesEditHistoryCapabilities | v2.NesUserActionsCapabilities | None,
    usual: int,
    find: Callable[[], list[T]],
) -> list[T] | None:
    """Return the last of what is found, if it is wanted."""
    if wanted is None:
        return None
    found = find()
    return found[max(len(found) - _count(wanted, usual), 0) :]


def diff_of(edit: Edit, path: str) -> str:
    """Return an edit as a unified diff of a file."""
    pieces = write_patch(_lines(edit.old), _lines(edit.new), line=edit.line)
    return f"--- a/{path}\n+++ b/{path}\n{pieces}"


def _lines(text: str) -> list[str]:
    lines = split_lines(text)
    return lines if lines[-1] else lines[:-1]
