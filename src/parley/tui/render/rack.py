"""The blocks of a history with their heights and what was painted of them; no widget.

Heights are true once a block was painted for the width, guesses before. Their running sums are kept
up to the first that has changed and completed when somebody asks. There is no object for a block
that is not painted: a long session would make the garbage collector slow, which goes through all.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from .blocks import Block, Note
from .painting import PLAIN, Look

__all__ = ["GUTTER", "Rack"]

logger = logging.getLogger(__name__)

GUTTER = 1
"""How many cells at the left are kept free, for a mark."""


class _Painted(NamedTuple):
    """A block as lines."""

    seen: int
    """The version of the block that was painted."""
    lines: list[Strip]


class Rack:
    """A list of blocks that knows at which line each begins."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._heights: list[int] = []
        self._is_exact = bytearray()
        self._ends: list[int] = []
        self._width = 80
        self._look = PLAIN
        self._style = Style.null()
        self._painted: dict[int, _Painted] = {}  # by position

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def painted_lines(self) -> int:
        """How many lines are kept painted."""
        return sum(len(each.lines) for each in self._painted.values())

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
        self._heights[start : start + count] = [self._guess(block) for block in new]
        self._is_exact[start : start + count] = bytes(len(new))
        del self._ends[start:]
        behind, shift = start + count, len(new) - count
        self._painted = {
            index + shift if index >= behind else index: painted
            for index, painted in self._painted.items()
            if not start <= index < behind
        }

    def lay_out(self, width: int, look: Look, style: Style) -> None:
        """Forget what was painted; for another width, guess the heights anew."""
        is_same = width == self._width
        self._width, self._look, self._style = width, look, style
        self._painted.clear()
        if not is_same:
            self._ends.clear()
            self._heights = [self._guess(block) for block in self.blocks]
            self._is_exact = bytearray(len(self.blocks))

    def _guess(self, block: Block) -> int:
        return block.gap + max(block.guess(max(self._width - 2 * GUTTER, 1)), 1)

    def at(self, line: int) -> tuple[int, int] | None:
        """Return the block at a line, and which of its lines that is."""
        self._sum_up()
        index = bisect_right(self._ends, line)
        if index >= len(self._ends) or line < 0:
            return None
        return index, line - self._ends[index] + self._heights[index]

    def top(self, index: int) -> int:
        """Return the line at which a block begins."""
        self._sum_up()
        return self._ends[index] - self._heights[index] if index < len(self._ends) else 0

    def height(self, index: int) -> int:
        """Return how many lines a block has, as far as is known."""
        return self._heights[index]

    def line(self, index: int, line: int) -> Strip | None:
        """Return a line of a block; None if it is not painted."""
        painted = self._painted.get(index)
        return painted.lines[line] if painted is not None and line < len(painted.lines) else None

    def paint(self, index: int) -> tuple[int | None, int]:
        """Paint a block if need be; return its height before, if that was a guess, and now."""
        if not self.blocks:
            return None, 0
        block, painted = self.blocks[index], self._painted.get(index)
        before = None if self._is_exact[index] else self._heights[index]
        if painted is None or painted.seen != block.version:
            lines = self._strips(block)
            self._painted[index] = _Painted(block.version, lines)
            self._is_exact[index] = True
            if self._heights[index] != len(lines):
                self._heights[index] = len(lines)
                del self._ends[index:]
        return before, self._heights[index]

    def _strips(self, block: Block) -> list[Strip]:
        width, style = self._width, self._style
        gutter = Segment(" " * GUTTER, style)
        lines: list[Strip] = []
        for strip in self._lines(block, max(width - 2 * GUTTER, 1)):
            styled = Segment.apply_style(strip, style)
            missing = width - GUTTER - strip.cell_length
            if missing >= 0:  # one strip for each line: to make them is most of the work
                lines.append(Strip([gutter, *styled, Segment(" " * missing, style)], width))
            else:
                lines.append(Strip([gutter, *styled]).adjust_cell_length(width, style))
        blank = Strip.blank(width, style)
        return [*([blank] * block.gap), *lines] or [blank]

    def _lines(self, block: Block, width: int) -> list[Strip]:
        try:
            return block.lines(width, self._look)
        except Exception:  # a mistake of ours in one block does not end the conversation
            logger.exception("a part of the conversation cannot be shown")
            return Note("this part cannot be shown", "error").lines(width, self._look)

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
            index: len(painted.lines)
            for index, painted in self._painted.items()
            if not first <= index < behind
        }
        excess = sum(outside.values()) - most
        for index in sorted(outside, key=lambda n: min(abs(n - first), abs(n - behind)))[::-1]:
            if excess <= 0:
                break
            del self._painted[index]
            excess -= outside[index]

    def _sum_up(self) -> None:
        known = len(self._ends)
        if known < len(self._heights):
            start = self._ends[-1] if known else 0
            ends = accumulate(self._heights[known:], initial=start)
            next(ends)
            self._ends.extend(ends)
