"""The user's latest edits as a prompt tells them: at most six, and six KiB of diffs.

They come from the changes of open documents, put together by the log; from a client that sends no
such events, they come with the question.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from parley.nes._documents.document import Document, content, split_lines
from parley.nes._documents.edit_log import Edit, EditLog
from parley.nes._documents.patches import read_patch, write_patch
from parley.nes.engine import EditProposal, HistoryEntry

from ._situation import Event

_MAX_EVENTS = 6
_MAX_CHARACTERS = 6 * 1024
_CONTEXT_LINES = 3
_MAX_ACCEPTED = 10
_SHORTEST_ACCEPTED = 4


class History:
    """The edits of one session."""

    def __init__(self, clock: Callable[[], float], path_of: Callable[[str], str]) -> None:
        self.log = EditLog(clock)
        """The changes, by the events of documents."""
        self._path_of = path_of
        self._accepted: deque[EditProposal] = deque(maxlen=_MAX_ACCEPTED)

    def accepted(self, proposal: EditProposal) -> None:
        """Remember what the user took from us."""
        self._accepted.append(proposal)

    def events(
        self, documents: Mapping[str, Document], entries: Iterable[HistoryEntry]
    ) -> tuple[Event, ...]:
        """Return the latest edits, the oldest first.

        Args:
            documents: The open ones, by their URIs.
            entries: The client's history, which counts if nothing else is known.
        """
        self.log.tick()
        edits = [*self.log, *([self.log.pending] if self.log.pending else [])]
        events = [self._event(edit, documents.get(edit.uri)) for edit in edits[-_MAX_EVENTS:]]
        if not events:
            events = [self._as_event(entry) for entry in [*entries][-_MAX_EVENTS:]]
            events = [event for event in events if event.diff]
        room = _MAX_CHARACTERS
        kept: list[Event] = []
        for event in reversed(events):
            room -= len(event.diff)
            if room < 0:
                break
            kept.append(event)
        return tuple(reversed(kept))

    def _event(self, edit: Edit, document: Document | None) -> Event:
        before, after = _lines(edit.old), _lines(edit.new)
        above: list[str] = []
        below: list[str] = []
        if document is not None:
            end = edit.line + len(after)
            above = document.lines[max(0, edit.line - _CONTEXT_LINES) : edit.line]
            below = document.lines[end : end + _CONTEXT_LINES]
        return Event(
            path=self._path_of(edit.uri),
            uri=edit.uri,
            before=tuple(before),
            after=tuple(after),
            line=edit.line,
            diff=_diff(before, after, above, below, edit.line),
            was_proposed=self._was_proposed(edit),
        )

    def _as_event(self, entry: HistoryEntry) -> Event:
        pieces = read_patch(entry.diff)
        return Event(
            path=self._path_of(entry.uri),
            uri=entry.uri,
            before=tuple(chain.from_iterable(each.old for each in pieces)),
            after=tuple(chain.from_iterable(each.new for each in pieces)),
            diff="".join(each.text for each in pieces),
        )

    def _was_proposed(self, edit: Edit) -> bool:
        return any(
            proposal.uri == edit.uri
            and sum(len(each.text) for each in proposal.edits) >= _SHORTEST_ACCEPTED
            and all(each.text in edit.new for each in proposal.edits)
            for proposal in self._accepted
        )


def _lines(text: str) -> list[str]:
    lines = [content(line) for line in split_lines(text)]
    return lines if lines[-1] else lines[:-1]


def _diff(
    before: list[str], after: list[str], above: list[str], below: list[str], line: int
) -> str:
    """Return a unified diff without the names of files, its hunks at their lines."""
    head, tail = [content(each) for each in above], [content(each) for each in below]
    while tail and not tail[-1]:
        tail.pop()
    old, new = ([f"{each}\n" for each in (*head, *lines, *tail)] for lines in (before, after))
    return write_patch(old, new, line=line - len(head), context=_CONTEXT_LINES)
