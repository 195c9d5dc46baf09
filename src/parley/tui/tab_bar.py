"""The line with the tabs, if there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from .render.blocks import one_line
from .render.lines import clip
from .render.theme import theme_of

__all__ = ["TabBar"]

_WIDEST = 28
_NARROWEST = 8


class _Tab(NamedTuple):
    text: str
    is_shown: bool
    is_waiting: bool


class TabBar(Widget):
    """The names of the tabs, with marks for those that are waiting for the user."""

    DEFAULT_CSS = """
    TabBar {
        display: none;
        height: 1;
        background: $panel;
    }
    """

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__()
        self._tabs: list[_Tab] = []

    def show(self, tabs: Sequence[tuple[str, str]], shown: int) -> None:
        """Show tabs with their marks and names; a single tab needs no line."""
        self.display = len(tabs) > 1
        self._tabs = [
            _Tab(_text(number, mark, label), number == shown, mark == "?")
            for number, (mark, label) in enumerate(tabs)
        ]
        self.refresh()

    @property
    def text(self) -> str:
        """The text of the line."""
        return "".join(self._cut(each) for each in self._tabs)

    def render_line(self, y: int) -> Strip:
        """Return the line."""
        theme = theme_of(self)
        ground = self.rich_style
        segments: list[Segment] = []
        for each in self._tabs:
            style = (
                theme.warning if each.is_waiting else Style.null() if each.is_shown else theme.faint
            )
            marked = Style(bold=True, reverse=True) if each.is_shown else Style.null()
            segments.append(Segment(self._cut(each), ground + style + marked))
        return Strip(segments).adjust_cell_length(self.size.width, ground)

    def on_click(self, event: events.Click) -> None:
        """Go to the tab below the mouse."""
        end = 0
        for index, each in enumerate(self._tabs):
            end += cell_len(self._cut(each))
            if event.x < end:
                self.post_message(self.Picked(index))
                return

    def _cut(self, tab: _Tab) -> str:
        room = self.size.width // max(len(self._tabs), 1)
        width = min(max(room, _NARROWEST), _WIDEST)
        return "".join(each.text for each in clip([(f" {tab.text} ", Style.null())], width))


def _text(number: int, mark: str, label: str) -> str:
    return " ".join(filter(None, [str(number + 1), mark, one_line(label)]))
