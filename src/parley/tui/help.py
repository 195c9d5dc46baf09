"""The screen that lists every command and every key."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from .commands import COMMANDS, KEYS, shown_key

__all__ = ["Help"]


class Help(ModalScreen[None]):
    """Lists what can be done; any of Esc, Enter, q and F1 closes it."""

    DEFAULT_CSS = """
    Help {
        align: center middle;
    }
    Help VerticalScroll {
        width: 78;
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
        box = VerticalScroll(Static(_text()))
        box.border_title = "Parley"
        box.border_subtitle = "Up, Down scroll · Esc closes"
        yield box

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def _text() -> Content:
    rows = [("in the input:", ""), *KEYS, ("commands:", "")]
    rows += [
        (f"/{each.name} {each.argument}".rstrip(), f"{each.title}: {each.what}")
        for each in COMMANDS
    ]
    keys = {f"/{each.name} {each.argument}".rstrip(): shown_key(each.key) for each in COMMANDS}
    lines: list[Content] = []
    for left, right in rows:
        if not right:
            lines += [Content(""), Content.styled(left, "bold $primary")]
            continue
        key = f"  {keys[left]}" if keys.get(left) else ""
        lines.append(Content.assemble((f"{left:<22}", "bold"), right, (key, "$text-accent")))
    return Content("\n").join(lines[1:])
