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
from .keys import KEYS, key_label
from .render.lines import Line, indent, wrap
from .render.theme import Theme

__all__ = ["Help", "help_sections"]

_NAME_CELLS = 14
_NARROW_CELLS = 56
"""Below this width, the description of a key gets a line of its own."""
_BEFORE_COMMANDS = 2
"""The number of places that are listed before the commands."""


class Help(ModalScreen[None]):
    """Lists all commands and keys; Esc, Enter, q and F1 close it."""

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


def help_sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each heading with its rows: keys or a command, and the description."""
    places = [(place, list(rows)) for place, rows in KEYS.items()]
    commands: list[tuple[str, str]] = []
    for each in COMMANDS:
        name = f"/{each.name} {each.argument}"
        left = f"{name:<{_NAME_CELLS}}{key_label(each.key)}".rstrip()
        commands.append((left, f"{each.title.rstrip('…')}: {each.what}"))
    yield from places[:_BEFORE_COMMANDS]
    yield "Commands", commands
    yield from places[_BEFORE_COMMANDS:]


def _paint(width: int, theme: Theme) -> list[Line]:
    lines: list[Line] = []
    for heading, rows in help_sections():
        lines += [[], *wrap([(heading, theme.heading)], width)]
        column = 2 + max(len(left) for left, _ in rows)
        for left, right in rows:
            name, text = (left, theme.strong), (right, Style.null())
            if width < _NARROW_CELLS:
                lines += wrap([name], width)
                lines += indent(wrap([text], width - 2), ("  ", Style.null()))
            else:
                description = wrap([text], width - column)
                lines += indent(description, (f"{left:<{column}}", theme.strong))
    return lines[1:]
