"""A text that is painted for its width and can be scrolled.

Instead of a scroll bar, `place` describes the visible part in words that can be read aloud.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from parley.tui.render.lines import Line
from parley.tui.render.theme import Theme, theme_of

__all__ = ["Paint", "Pane", "describe_range"]

Paint: TypeAlias = Callable[[int, Theme], list[Line]]
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
        """The visible part or the length of the text has changed."""

    def __init__(self, paint: Paint, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._paint_lines = paint
        self._painted: tuple[int, Theme] | None = None
        self._painted_lines: list[Line] = []

    @property
    def place(self) -> str:
        """The visible lines in words; empty if all are visible."""
        return describe_range(self, len(self._painted_lines))

    def repaint(self) -> None:
        """Paint again: the content has changed."""
        self._painted = None
        self.refresh(layout=True)

    def page(self, pages: int) -> None:
        """Scroll by pages, with an overlap of one line."""
        rows = pages * max(self.size.height - 1, 1)
        self.scroll_relative(y=rows, animate=False, immediate=True)

    def text(self) -> str:
        """Return the text that was painted last."""
        return "\n".join("".join(each.text for each in line) for line in self._painted_lines)

    def _all_lines(self, width: int) -> list[Line]:
        theme = theme_of(self)
        if self._painted != (width, theme):
            self._painted = (width, theme)
            self._painted_lines = self._paint_lines(max(width, 1), theme)
        return self._painted_lines

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return len(self._all_lines(width))

    def on_resize(self) -> None:
        """Paint for the new width."""
        self._measure()

    def notify_style_update(self) -> None:
        """Paint again when the styles have changed."""
        super().notify_style_update()
        self._painted = None

    def _measure(self) -> None:
        width = self.size.width
        size = Size(width, len(self._all_lines(width)))
        if size != self.virtual_size:
            self.virtual_size = size
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report that another part is visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Return one line of the view."""
        width = self.size.width
        lines = self._all_lines(width)
        number = self.scroll_offset.y + y
        strip = Strip(lines[number]) if number < len(lines) else Strip([])
        return strip.adjust_cell_length(width).apply_style(self.rich_style)


def describe_range(view: ScrollView, count: int) -> str:
    """Return the visible lines of a view in words; empty if all are visible."""
    height = view.size.height
    if count <= height:
        return ""
    first = min(round(view.scroll_y), count - height)
    return f"lines {first + 1}-{first + height} of {count}"
