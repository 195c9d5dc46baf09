"""The blocks of a history with their heights and their painted lines; not a widget.

A height is exact once the block was painted for the width, and a guess before. The running sums of
the heights are kept up to the first change and completed on demand. A block that is not painted has
no object here: in a long session, the garbage collector would have to visit all of them.
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
from .theme import PLAIN, Theme

__all__ = ["GUTTER", "BlockLayout"]

logger = logging.getLogger(__name__)

GUTTER = 1
"""The number of cells at the left that are kept free for a mark."""


class _PaintedBlock(NamedTuple):
    """A block as lines."""

    seen: int
    """The version of the block that was painted."""
    lines: list[Strip]


class BlockLayout:
    """A list of blocks with the line at which each begins."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._heights: list[int] = []
        self._is_exact = bytearray()
        self._ends: list[int] = []
        self._width = 80
        self._theme = PLAIN
        self._style = Style.null()
        self._painted: dict[int, _PaintedBlock] = {}  # by position

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def painted_lines(self) -> int:
        """The number of lines that are kept painted."""
        return sum(len(each.lines) for each in self._painted.values())

    @property
    def total(self) -> int:
        """The height of everything."""
        self._sum_up()
        return self._ends[-1] if self._ends else 0

    def find(self, block: Block) -> int:
        """Return the index of a block, which is nearly always near the end.

        Raises:
            ValueError: It is not here.
        """
        for index in range(len(self.blocks) - 1, -1, -1):
            if self.blocks[index] is block:
                return index
        raise ValueError("the block is not in the history")

    def splice(self, start: int, count: int, new: Sequence[Block]) -> None:
        """Replace a number of blocks by others."""
        self.blocks[start : start + count] = new
        self._heights[start : start + count] = [self._guess(block) for block in new]
        self._is_exact[start : start + count] = bytes(len(new))
        del self._ends[start:]
        stop, shift = start + count, len(new) - count
        self._painted = {
            index + shift if index >= stop else index: painted
            for index, painted in self._painted.items()
            if not start <= index < stop
        }

    def reset(self, width: int, theme: Theme, style: Style) -> None:
        """Discard the painted lines; for another width, guess the heights again."""
        is_same = width == self._width
        self._width, self._theme, self._style = width, theme, style
        self._painted.clear()
        if not is_same:
            self._ends.clear()
            self._heights = [self._guess(block) for block in self.blocks]
            self._is_exact = bytearray(len(self.blocks))

    def _guess(self, block: Block) -> int:
        return block.gap + max(block.guess(max(self._width - 2 * GUTTER, 1)), 1)

    def block_at(self, line: int) -> tuple[int, int] | None:
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
        """Return the height of a block, exact or guessed."""
        return self._heights[index]

    def line(self, index: int, line: int) -> Strip | None:
        """Return a line of a block; None if the block is not painted."""
        painted = self._painted.get(index)
        return painted.lines[line] if painted is not None and line < len(painted.lines) else None

    def paint(self, index: int) -> tuple[int | None, int]:
        """Paint a block if necessary; return its guessed height, if it had one, and its height."""
        if not self.blocks:
            return None, 0
        block, painted = self.blocks[index], self._painted.get(index)
        before = None if self._is_exact[index] else self._heights[index]
        if painted is None or painted.seen != block.version:
            lines = self._strips(block)
            self._painted[index] = _PaintedBlock(block.version, lines)
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
            if missing >= 0:  # creating strips is the slowest part: one for each line
                lines.append(Strip([gutter, *styled, Segment(" " * missing, style)], width))
            else:
                lines.append(Strip([gutter, *styled]).adjust_cell_length(width, style))
        blank = Strip.blank(width, style)
        return [*([blank] * block.gap), *lines] or [blank]

    def _lines(self, block: Block, width: int) -> list[Strip]:
        try:
            return block.lines(width, self._theme)
        except Exception:  # a bug in one block must not end the conversation
            logger.exception("a part of the conversation cannot be shown")
            return Note("this part cannot be shown", "error").lines(width, self._theme)

    def paint_down(self, index: int, lines: int) -> int:
        """Paint a number of lines from a block downwards; return the index after the last block."""
        while lines > 0 and index < len(self.blocks):
            lines -= self.paint(index)[1]
            index += 1
        return index

    def paint_up(self, index: int, lines: int) -> int:
        """Paint a number of lines before a block; return the index of the first painted block."""
        while lines > 0 and index > 0:
            index -= 1
            lines -= self.paint(index)[1]
        return index

    def drop(self, first: int, stop: int, most: int) -> None:
        """Discard painted lines outside a range of blocks, except for a number of them."""
        outside = {
            index: len(painted.lines)
            for index, painted in self._painted.items()
            if not first <= index < stop
        }
        excess = sum(outside.values()) - most
        for index in sorted(outside, key=lambda n: min(abs(n - first), abs(n - stop)))[::-1]:
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
