"""The screen that lists every command and every key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from .commands import COMMANDS
from .dialogs.pane import Pane
from .keys import KEYS, shown_key
from .render.lines import Line, indent, wrap
from .render.painting import Look

__all__ = ["Help", "sections"]

_NAME_CELLS = 14
_NARROW_CELLS = 56
"""Below this width what a key does stands on a line of its own."""
_BEFORE_COMMANDS = 2
"""So many places come first: those that one begins with."""


class Help(ModalScreen[None]):
    """Lists what can be done; any of Esc, Enter, q and F1 closes it."""

    DEFAULT_CSS = """
    Help {
        align: center middle;
    }
    Help VerticalScroll {
        width: 84;
        max-width: 100%;
        height: auto;
        max-height: 100%;
        padding: 0 1;
        border: round $primary;
        background: $surface;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,f1", "close", "Close", show=False)
    ]

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        box = VerticalScroll(Pane(_paint))
        box.border_title = "Parley"
        box.border_subtitle = "Up, Down scroll · Esc closes"
        yield box

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Go through what is listed: a heading, and what to press or write with what it does."""
    places = [(place, list(rows)) for place, rows in KEYS.items()]
    commands: list[tuple[str, str]] = []
    for each in COMMANDS:
        name = f"/{each.name} {each.argument}"
        left = f"{name:<{_NAME_CELLS}}{shown_key(each.key)}".rstrip()
        commands.append((left, f"{each.title.rstrip('…')}: {each.what}"))
    yield from places[:_BEFORE_COMMANDS]
    yield "Commands", commands
    yield from places[_BEFORE_COMMANDS:]


def _paint(width: int, look: Look) -> list[Line]:
    lines: list[Line] = []
    for heading, rows in sections():
        lines += [[], *wrap([(heading, look.heading)], width)]
        column = 2 + max(len(left) for left, _ in rows)
        for left, right in rows:
            name, what = (left, look.strong), (right, Style.null())
            if width < _NARROW_CELLS:
                lines += wrap([name], width)
                lines += indent(wrap([what], width - 2), ("  ", Style.null()))
            else:
                told = wrap([what], width - column)
                lines += indent(told, (f"{left:<{column}}", look.strong))
    return lines[1:]
