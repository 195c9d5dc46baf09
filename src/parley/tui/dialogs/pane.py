"""A piece of text that is painted for its width and can be scrolled.

There is no scroll bar: `place` says in words how much there is, which can also be read aloud.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from parley.tui.render.lines import Line
from parley.tui.render.painting import Look, look_of

__all__ = ["Paint", "Pane", "place_in"]

Paint: TypeAlias = Callable[[int, Look], list[Line]]
"""Returns all lines for a width. The text in them is inert."""


class Pane(ScrollView, can_focus=False):
    """Lines that a function paints."""

    DEFAULT_CSS = """
    Pane {
        height: auto;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 0;
    }
    """

    class Moved(Message):
        """Another part is in view, or there is more or less of it."""

    def __init__(self, paint: Paint, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._paint_lines = paint
        self._painted: tuple[int, Look] | None = None
        self._painted_lines: list[Line] = []

    @property
    def place(self) -> str:
        """Which lines are in view, where that is not all of them."""
        return place_in(self, len(self._painted_lines))

    def repaint(self) -> None:
        """Paint anew: what is to be shown has changed."""
        self._painted = None
        self.refresh(layout=True)

    def page(self, pages: int) -> None:
        """Scroll by so many pages, less a line that stays in view."""
        rows = pages * max(self.size.height - 1, 1)
        self.scroll_relative(y=rows, animate=False, immediate=True)

    def text(self) -> str:
        """Return what was painted last, as text."""
        return "\n".join("".join(each.text for each in line) for line in self._painted_lines)

    def _all_lines(self, width: int) -> list[Line]:
        look = look_of(self)
        if self._painted != (width, look):
            self._painted = (width, look)
            self._painted_lines = self._paint_lines(max(width, 1), look)
        return self._painted_lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines there are."""
        return len(self._all_lines(width))

    def on_resize(self) -> None:
        """Paint for the new width."""
        self._measure()

    def notify_style_update(self) -> None:
        """Paint anew when colours have changed."""
        super().notify_style_update()
        self._painted = None

    def _measure(self) -> None:
        width = self.size.width
        size = Size(width, len(self._all_lines(width)))
        if size != self.virtual_size:
            self.virtual_size = size
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say that another part is in view."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.size.width
        lines = self._all_lines(width)
        number = self.scroll_offset.y + y
        strip = Strip(lines[number]) if number < len(lines) else Strip([])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)


def place_in(view: ScrollView, count: int) -> str:
    """Return which of so many lines a view shows, in words; nothing where that is all of them."""
    height = view.size.height
    if count <= height:
        return ""
    first = min(round(view.scroll_y), count - height)
    return f"lines {first + 1}-{first + height} of {count}"
