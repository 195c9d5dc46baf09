"""A list with a marked row; thousands of rows cost no more than the visible ones.

The mark is a sign and not only a colour. A long row is cut, unless all of it must be read: then the
rows are wrapped, and all of them are painted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from parley._display_text import sanitize_text
from parley.tui.render.lines import Line, Run, clip, fill, indent, wrap
from parley.tui.render.theme import Theme, theme_of

from .pane import describe_range

__all__ = ["Row", "Rows"]

T = TypeVar("T")

_FOUND = re.compile("[\2\3]")
"""Around words that were searched for, as the journal has it."""
_NONE = Style.null()
_MOST_CHARS = 2_000
"""The maximum length of a text that is searched."""


@dataclass(frozen=True)
class Row(Generic[T]):
    """A row that can be chosen; its text does not need to be inert."""

    value: T
    label: str
    detail: str = ""
    """Additional text after the label."""
    below: str = ""
    """On a line of its own."""
    group: str = ""
    """The heading above the rows of the same group."""
    sign: str = ""
    """Before the label: a key, a box."""
    can_choose: bool = True
    words: str = ""
    """Further text that a search matches."""

    def text(self) -> str:
        """Return the text that is searched."""
        parts = (self.label, self.detail, self.group, self.below, self.words)
        return " ".join(each[:_MOST_CHARS] for each in parts if each).casefold()

    def lines(self, width: int, theme: Theme, *, is_marked: bool, is_wrapped: bool) -> list[Line]:
        """Paint it."""
        name = theme.faint if not self.can_choose else theme.strong if is_marked else _NONE
        label, detail = (_line(each) for each in (self.label, self.detail))
        runs: list[Run] = [(label, name), (f"  {detail}" if detail else "", theme.faint)]
        first = ("▸ " if is_marked else "  ") + self.sign
        inner = max(width - len(first), 1)
        body = wrap(runs, inner) if is_wrapped else [clip(runs, inner)]
        if self.below:
            below = _found(self.below, theme)
            body += wrap(below, inner) if is_wrapped else [clip(below, inner)]
        lines = indent(body, (first, theme.accent if is_marked else _NONE))
        return [fill(line, width, theme.user) for line in lines] if is_marked else lines


def _line(text: str) -> str:
    return sanitize_text(text[:_MOST_CHARS], is_line=True)


def _found(text: str, theme: Theme) -> list[Run]:
    """Return text as runs, with the matching words highlighted."""
    pieces = _FOUND.split(text[:_MOST_CHARS].replace("\n", " "))
    styles = (theme.faint, theme.match)
    return [(sanitize_text(piece), styles[number % 2]) for number, piece in enumerate(pieces)]


class Rows(ScrollView, Generic[T], can_focus=False):
    """A list of rows in groups."""

    DEFAULT_CSS = """
    Rows {
        height: auto;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 0;
    }
    """

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, rows: Rows[Any], row: Row[Any], at: float) -> None:
            super().__init__()
            self.rows = rows
            self.row = row
            self.at = at
            """The time of the click."""

    def __init__(
        self,
        rows: Sequence[Row[T]] = (),
        *,
        mark: int | None = None,
        is_wrapped: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.all_rows: list[Row[T]] = list(rows)
        self.mark = mark
        """The number of the marked row."""
        self._is_wrapped = is_wrapped
        self._laid_out: tuple[int, Theme] | None = None
        self._places: list[tuple[int, int]] = []  # for each line the row, and its line in that
        self._tops: list[int] = []  # for each row its first line

    @property
    def marked(self) -> Row[T] | None:
        """The marked row."""
        return None if self.mark is None else self.all_rows[self.mark]

    @property
    def place(self) -> str:
        """The visible lines in words; empty if all are visible."""
        return describe_range(self, len(self._places))

    def show(self, rows: Sequence[Row[T]], mark: int | None = None) -> None:
        """Show other rows."""
        self.all_rows = list(rows)
        self.mark = mark
        self._laid_out = None
        self.scroll_to(y=0, animate=False, immediate=True)
        self._measure()
        self.refresh(layout=True)
        self.call_after_refresh(self.follow_mark)

    def move(self, step: int) -> None:
        """Move the mark by a number of rows, skipping those that cannot be chosen."""
        able = [number for number, row in enumerate(self.all_rows) if row.can_choose]
        if not able:
            return
        if self.mark in able:
            place = able.index(self.mark) + step
            if abs(step) == 1:
                place %= len(able)
            self.put_mark(able[min(max(place, 0), len(able) - 1)])
        else:
            self.put_mark(able[0 if step > 0 else -1])

    def page(self, pages: int) -> None:
        """Move the mark by a number of pages."""
        lines = max(len(self._places) // max(len(self.all_rows), 1), 1)
        self.move(pages * max(self.size.height // lines, 2))

    def put_mark(self, number: int | None) -> None:
        """Mark a row and bring it into view."""
        self.mark = number
        if self._is_wrapped:
            self._laid_out = None
        self.refresh()
        self.follow_mark()

    def follow_mark(self) -> None:
        """Bring the marked row into view, and the heading above the first one."""
        self._lay_out(self.size.width)
        if self.mark is None or self.mark >= len(self._tops):
            return
        top = self._tops[self.mark] if self.mark else 0
        below = self._tops[self.mark + 1 : self.mark + 2] or [len(self._places)]
        region = Region(0, top, self.size.width, below[0] - top)
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    def on_focus(self) -> None:
        """Show the mark."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the mark: the focus is elsewhere."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Mark the row that is clicked, and post a message."""
        offset = event.get_content_offset(self)
        number = self.scroll_offset.y + offset.y if offset is not None else -1
        if not 0 <= number < len(self._places):
            return
        index, line = self._places[number]
        row = self.all_rows[index]
        if line >= 0 and row.can_choose:
            self.put_mark(index)
            self.post_message(self.Chosen(self, row, event.time))

    def text(self) -> str:
        """Return all of it as text."""
        lines = (self._line_at(number) for number in range(len(self._places)))
        return "\n".join("".join(each.text for each in line).rstrip() for line in lines)

    # Layout and painting

    def _lay_out(self, width: int) -> None:
        """Compute the line of each row; line -1 of a row is the heading before it."""
        laid = (width, theme_of(self))
        if self._laid_out == laid:
            return
        self._laid_out = laid
        self._places, self._tops = [], []
        group = ""
        for number, row in enumerate(self.all_rows):
            if row.group and row.group != group:
                self._places.append((number, -1))
            group = row.group
            self._tops.append(len(self._places))
            height = len(self._painted(number)) if self._is_wrapped else 1 + bool(row.below)
            self._places += [(number, line) for line in range(height)]

    def _painted(self, number: int) -> list[Line]:
        assert self._laid_out is not None
        width, theme = self._laid_out
        row = self.all_rows[number]
        is_marked = number == self.mark and (self.has_focus or not self.can_focus)
        return row.lines(width, theme, is_marked=is_marked, is_wrapped=self._is_wrapped)

    def _line_at(self, number: int) -> Line:
        assert self._laid_out is not None
        index, line = self._places[number]
        if line < 0:
            width, theme = self._laid_out
            return clip([(_line(self.all_rows[index].group), theme.heading)], width)
        return self._painted(index)[line]

    def _measure(self) -> None:
        self._lay_out(self.size.width)
        size = Size(self.size.width, len(self._places))
        if size != self.virtual_size:
            self.virtual_size = size

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        self._lay_out(width)
        return len(self._places)

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._measure()
        self.follow_mark()

    def notify_style_update(self) -> None:
        """Paint again when the styles have changed."""
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.size.width
        self._lay_out(width)
        number = self.scroll_offset.y + y
        strip = Strip(self._line_at(number)) if number < len(self._places) else Strip([])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)
