"""One document, and the states that it was in lately.

The protocol marks neither undo nor redo. What tells them is that the text is one that it was
before; so of every state a sum is kept. The sum of a text follows from the sums of its blocks, of
which a change within a line touches one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from .change import Change
from .document import Document, content

_MOST_STATES = 200
_BLOCK = 256
"""The number of lines that are hashed together."""


class Past:
    """The past of a document that is followed by its changes."""

    def __init__(self, document: Document) -> None:
        self._shadow = document.copy()
        self.lines = [content(line) for line in self._shadow.lines]
        """The lines as they are now, without their ends."""
        self._sums = _sums(self.lines)
        """The sums of the blocks; those are missing that are moved within a step."""
        self._states: OrderedDict[int, None] = OrderedDict([(self.state, None)])
        self.is_undoing = False
        """After the last changes the text is one that it was before: something was taken back."""

    @property
    def state(self) -> int:
        """A number that is the same for the same lines, and for no others."""
        self._sums += _sums(self.lines[len(self._sums) * _BLOCK :])
        return hash(tuple(self._sums))

    def change(self, changes: Iterable[Change]) -> None:
        """Take in changes that were made, one after the other, as one step."""
        for change in changes:
            self.edit(change)
        self.note()

    def edit(self, change: Change) -> tuple[int, list[str], list[str]]:
        """Take in one change of a step.

        Returns:
            The first line that it may have touched, the lines that stood there, and those that
            stand there now.
        """
        first, last = change.span.start.line, change.span.end.line
        self._shadow.edit(change.span, change.new)
        tail = len(self.lines) - 1 - last
        # A lone return before a new line feed joins the line above.
        first = max(0, first - 1)
        new = [content(x) for x in self._shadow.lines[first : len(self._shadow.lines) - tail]]
        old = self.lines[first : last + 1]
        if len(new) == len(old) and last // _BLOCK < len(self._sums):
            self._sums = self._with(first, last + 1, new)
        else:
            del self._sums[first // _BLOCK :]  # what is below moves
        self.lines[first : last + 1] = new
        return first, old, new

    def note(self) -> None:
        """End a step: notice when the text is again as it was."""
        state = self.state
        if state == next(reversed(self._states)):
            return  # nothing was changed
        self.is_undoing = state in self._states
        self._states[state] = None
        self._states.move_to_end(state)
        while len(self._states) > _MOST_STATES:
            self._states.popitem(last=False)

    def was(self, start: int, end: int, lines: Sequence[str]) -> bool:
        """Return whether the text was before what it is with other lines at `start:end`."""
        _ = self.state
        return hash(tuple(self._with(start, end, lines))) in self._states

    def had(self, document: Document) -> bool:
        """Return whether the text was before, or is now, that of another document."""
        return hash(tuple(_sums([content(line) for line in document.lines]))) in self._states

    def _with(self, start: int, end: int, lines: Sequence[str]) -> list[int]:
        """Return the sums with other lines at `start:end`."""
        top, bottom = start // _BLOCK, len(self._sums)
        if len(lines) == end - start:
            bottom = end // _BLOCK + 1  # what is below stays where it is
        above, below = self.lines[top * _BLOCK : start], self.lines[end : bottom * _BLOCK]
        return [*self._sums[:top], *_sums([*above, *lines, *below]), *self._sums[bottom:]]


def _sums(lines: list[str]) -> list[int]:
    return [hash(tuple(lines[at : at + _BLOCK])) for at in range(0, len(lines), _BLOCK)]
