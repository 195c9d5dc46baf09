"""One open document as the client keeps it: its text, its cursor, and the texts it had."""

from __future__ import annotations

from collections.abc import Sequence

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.past import Past
from parley.nes._rebase import Step, end_after, moved
from parley.schema import v2

from ._suggestion_memory import Key


class Buffer:
    """A document that is open in the editor."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.cursor = Spot(0, 0)
        self.selection: Span | None = None
        self.visible: Span | None = None
        """The visible part; None where the editor has not reported it."""
        self.focused_ms: int | None = None
        """When it came to the front last."""
        self.is_brought = False
        """Whether it came to the front, and that is not sent yet."""
        self.unsent: list[v2.TextDocumentContentChangeEvent] | None = None
        """The changes that are not sent yet; None if all are sent."""
        self.is_back = False
        """Whether the last change made a text that was there before: undo, or redo."""
        self._past = Past(document)

    @property
    def key(self) -> Key:
        """The key of an answer to a question asked now."""
        return Key(self.document.uri, self._past.state, self.cursor.line)

    @property
    def seen(self) -> Span:
        """The visible part."""
        return self.visible or Span(Spot(0, 0), self.document.end)

    def steps(self, changes: Sequence[Change], cursor: Spot | None) -> list[Step]:
        """Take changes that were made; by default the cursor is after the last one."""
        before = self._past.state
        self._past.change(changes)
        self.is_back = self._past.state != before and self._past.is_undoing
        steps: list[Step] = []
        for change in (real := [each for each in changes if each.old != each.new]):
            at = end_after(change.span.start, change.new)
            is_last = change is real[-1]
            self.cursor = self.document.clamp(cursor) if cursor is not None and is_last else at
            steps.append(Step(self.document.uri, change, self.cursor, self._before(change)))
            if self.visible is not None:
                top, bottom = (moved(each, change) or at for each in self.visible)
                self.visible = Span(top, bottom)
        if cursor is not None and not steps:
            self.cursor = self.document.clamp(cursor)
        self.selection = None
        return steps

    def _before(self, change: Change) -> str:
        """Return the character before a change, which the change leaves as it was."""
        line, column = change.span.start
        lines = self.document.lines
        return lines[line][column - 1 : column] if column and line < len(lines) else ""
