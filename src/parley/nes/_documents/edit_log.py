"""The recent edits of a user, with keystrokes joined to edits.

Changes of one file that follow each other soon and near belong to one edit; when the user goes
elsewhere, or stops for a moment, the edit is *settled*. What comes to nothing, typed and taken
back, is none. The log has its own list of each document's lines and knows what stood there before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from .change import Change, Spot
from .document import Document
from .ends import same_ends

NEAR_LINES = 8
"""The lines between changes that may belong together."""
SOON_AFTER = 1.0
"""The seconds between changes that may belong together."""
MAX_EDITS = 64


class Edit:
    """Some lines that became others."""

    def __init__(self, uri: str, line: int, *, old: str, new: str) -> None:
        self.uri = uri
        self.line = line
        """Where it begins; this follows what is changed above it later."""
        self.old = old
        """The old lines."""
        self.new = new
        """The new lines."""

    def __repr__(self) -> str:
        return f"Edit({self.uri!r}, {self.line}, old={self.old!r}, new={self.new!r})"


class _Region:
    """Lines that are being changed."""

    def __init__(self, uri: str, top: int) -> None:
        self.uri = uri
        self.top = top
        self.bottom = top
        """The line after it, as the text is now."""
        self.old: list[str] = []
        """The lines that stood there when it began."""
        self.touched = 0.0

    def is_near(self, first: int, last: int) -> bool:
        """Return whether some lines are within it or not far away."""
        return first <= self.bottom - 1 + NEAR_LINES and last >= self.top - NEAR_LINES

    def take_in(self, lines: list[str], first: int, last: int) -> None:
        """Make it as large as these lines, which are not yet changed where they are new to it."""
        if first < self.top:
            self.old[:0] = lines[first : self.top]
            self.top = first
        if last >= self.bottom:
            self.old += lines[self.bottom : last + 1]
            self.bottom = min(last + 1, len(lines))


class EditLog:
    """The edits of all documents of a session, in the order in which they were made."""

    def __init__(self, clock: Callable[[], float], *, max_edits: int = MAX_EDITS) -> None:
        """Begin a log.

        Args:
            clock: Tells the seconds that have passed, as `time.monotonic` does.
            max_edits: How many edits are kept; the oldest goes first.
        """
        self._clock = clock
        self._edits: deque[Edit] = deque(maxlen=max_edits)
        self._shadows: dict[str, Document] = {}
        self._region: _Region | None = None

    def __iter__(self) -> Iterator[Edit]:
        """Go through the settled edits, the oldest first."""
        return iter([*self._edits])

    @property
    def pending(self) -> Edit | None:
        """The edit in progress."""
        region = self._region
        return None if region is None else self._edit(region)

    def opened(self, document: Document) -> None:
        """Begin to follow a document; one of this name that was followed is forgotten."""
        self.closed(document.uri)
        self._shadows[document.uri] = document.copy()

    def closed(self, uri: str) -> None:
        """Settle what was edited in a document, and follow it no longer."""
        if self._region is not None and self._region.uri == uri:
            self.settle()
        self._shadows.pop(uri, None)

    def changed(self, uri: str, changes: Sequence[Change]) -> None:
        """Take changes that were made, one after the other."""
        shadow = self._shadows.get(uri)
        if shadow is None:
            return
        now = self._clock()
        for change in changes:
            self._change(shadow, change, now)

    def tick(self) -> None:
        """Settle what is being edited if nothing has come for a while."""
        if self._region is not None and self._clock() - self._region.touched > SOON_AFTER:
            self.settle()

    def settle(self) -> None:
        """Settle what is being edited now."""
        region, self._region = self._region, None
        edit = None if region is None else self._edit(region)
        if edit is not None:
            self._edits.append(edit)

    def _change(self, shadow: Document, change: Change, now: float) -> None:
        first, last = change.span.start.line, change.span.end.line
        if first and not change.span.start.column and shadow.lines[first - 1].endswith("\r"):
            first -= 1  # its end may become another one
        region = self._region
        if region is None or not (
            region.uri == shadow.uri
            and now - region.touched <= SOON_AFTER
            and region.is_near(first, last)
        ):
            self.settle()
            region = self._region = _Region(shadow.uri, first)
        region.take_in(shadow.lines, first, last)
        region.touched = now
        before = len(shadow.lines)
        shadow.edit(change.span, change.new)
        grown = len(shadow.lines) - before
        region.bottom += grown
        for edit in self._edits:
            if edit.uri == shadow.uri:
                edit.line = _moved(edit.line, change, grown)

    def _edit(self, region: _Region) -> Edit | None:
        new = self._shadows[region.uri].lines[region.top : region.bottom]
        old = region.old
        top, end = same_ends(old, new)
        old, new = old[top : len(old) - end], new[top : len(new) - end]
        if not old and not new:
            return None
        return Edit(
            region.uri,
            region.top + top,
            old="".join(old),
            new="".join(new),
        )


def _moved(line: int, change: Change, grown: int) -> int:
    """Return where a line is after a change that made the text some lines longer."""
    start, end = change.span
    if end <= Spot(line, 0):
        return line + grown
    # What began in the middle of a change is where the change ends, at most.
    return line if Spot(line, 0) <= start else min(line, end.line + grown)
