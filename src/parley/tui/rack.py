"""The blocks of a history with their heights and what was painted of them; no widget.

Heights are true once a block was painted for the width, guesses before. Their running sums are kept
up to the first that has changed and completed when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from .blocks import Block
from .painting import PLAIN, Look

__all__ = ["GUTTER", "Rack"]

GUTTER = 1
"""How many cells at the left are kept free, for a mark."""


class _Entry:
    """What is known of a block."""

    __slots__ = ("height", "is_exact", "painted", "seen")

    def __init__(self, height: int, version: int) -> None:
        self.height = height
        self.is_exact = False
        self.painted: list[Strip] | None = None
        self.seen = version


class Rack:
    """A list of blocks that knows at which line each begins."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._entries: list[_Entry] = []
        self._ends: list[int] = []
        self._width = 80
        self._look = PLAIN
        self._style = Style.null()
        self._painted: set[int] = set()  # the positions of those with lines

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def painted_lines(self) -> int:
        """How many lines are kept painted."""
        return sum(len(entry.painted or ()) for entry in self._entries)

    @property
    def total(self) -> int:
        """The height of everything."""
        self._sum_up()
        return self._ends[-1] if self._ends else 0

    def find(self, block: Block) -> int:
        """Return where a block is; nearly always near the end.

        Raises:
            ValueError: It is not here.
        """
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                return index
        raise ValueError("the block is not in the history")

    def splice(self, start: int, count: int, new: Sequence[Block]) -> None:
        """Put blocks in the place of so many others."""
        self.blocks[start : start + count] = new
        self._entries[start : start + count] = [
            _Entry(self._guess(block), block.version) for block in new
        ]
        del self._ends[start:]
        behind, shift = start + count, len(new) - count
        self._painted = {
            index + shift if index >= behind else index
            for index in self._painted
            if not start <= index < behind
        }

    def lay_out(self, width: int, look: Look, style: Style) -> None:
        """Forget what was painted; for another width, guess the heights anew."""
        is_same = width == self._width
        self._width, self._look, self._style = width, look, style
        for index in self._painted:
            self._entries[index].painted = None
        self._painted.clear()
        if is_same:
            return
        self._ends.clear()
        for block, entry in zip(self.blocks, self._entries, strict=True):
            entry.is_exact = False
            entry.height = self._guess(block)

    def _guess(self, block: Block) -> int:
        return block.gap + max(block.guess(max(self._width - 2 * GUTTER, 1)), 1)

    def at(self, line: int) -> tuple[int, int] | None:
        """Return the block at a line, and which of its lines that is."""
        self._sum_up()
        index = bisect_right(self._ends, line)
        if index >= len(self._ends) or line < 0:
            return None
        return index, line - self._ends[index] + self._entries[index].height

    def top(self, index: int) -> int:
        """Return the line at which a block begins."""
        self._sum_up()
        return self._ends[index] - self._entries[index].height if index < len(self._ends) else 0

    def height(self, index: int) -> int:
        """Return how many lines a block has, as far as is known."""
        return self._entries[index].height

    def line(self, index: int, line: int) -> Strip | None:
        """Return a line of a block; None if it is not painted."""
        painted = self._entries[index].painted
        return painted[line] if painted is not None and line < len(painted) else None

    def paint(self, index: int) -> tuple[int | None, int]:
        """Paint a block if need be; return its height before, if that was a guess, and now."""
        if not self.blocks:
            return None, 0
        entry, block = self._entries[index], self.blocks[index]
        before = None if entry.is_exact else entry.height
        if entry.painted is None or entry.seen != block.version:
            entry.painted = self._strips(block)
            entry.seen = block.version
            entry.is_exact = True
            self._painted.add(index)
            if entry.height != len(entry.painted):
                entry.height = len(entry.painted)
                del self._ends[index:]
        return before, entry.height

    def _strips(self, block: Block) -> list[Strip]:
        width, style = self._width, self._style
        gutter = Segment(" " * GUTTER, style)
        blank = Strip.blank(width, style)
        painted = block.lines(max(width - 2 * GUTTER, 1), self._look)
        lines = [
            Strip([gutter, *strip.apply_style(style)]).adjust_cell_length(width, style)
            for strip in painted
        ]
        return [*([blank] * block.gap), *lines] or [blank]

    def paint_down(self, index: int, lines: int) -> int:
        """Paint from a block on until there are so many lines; return the one behind the last."""
        while lines > 0 and index < len(self.blocks):
            lines -= self.paint(index)[1]
            index += 1
        return index

    def paint_up(self, index: int, lines: int) -> int:
        """Paint what stands before a block until there are so many lines; return the first."""
        while lines > 0 and index > 0:
            index -= 1
            lines -= self.paint(index)[1]
        return index

    def drop(self, first: int, behind: int, most: int) -> None:
        """Give up what is painted outside of some blocks, if that is more than so many lines."""
        outside = {
            index: len(self._entries[index].painted or ())
            for index in self._painted
            if not first <= index < behind
        }
        excess = sum(outside.values()) - most
        for index in sorted(outside, key=lambda n: min(abs(n - first), abs(n - behind)))[::-1]:
            if excess <= 0:
                break
            self._entries[index].painted = None
            self._painted.discard(index)
            excess -= outside[index]

    def _sum_up(self) -> None:
        known = len(self._ends)
        if known < len(self._entries):
            start = self._ends[-1] if known else 0
            heights = (entry.height for entry in self._entries[known:])
            self._ends.extend(list(accumulate(heights, initial=start))[1:])
