"""The bar for searching the history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from .render.blocks import Block
from .render.history import History

__all__ = ["FindBar"]


class FindBar(Horizontal):
    """Searches a history, starting with the latest match."""

    DEFAULT_CSS = """
    FindBar {
        display: none;
        height: 1;
        background: $panel;
    }
    FindBar Static {
        width: auto;
        padding: 0 1;
        color: $text-muted;
    }
    FindBar Input {
        width: 1fr;
        background: $panel;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", show=False),
        Binding("up,enter", "step(-1)", "Earlier", show=False, priority=True),
        Binding("down", "step(1)", "Later", show=False, priority=True),
    ]

    class Closed(Message):
        """The search is over."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history
        self._found: Sequence[Block] = ()
        self._at = 0
        self._input = Input(compact=True, placeholder="words of the conversation")
        self._count = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the input and the number of matches."""
        yield Static("find", markup=False)
        yield self._input
        yield self._count

    def on_mount(self) -> None:
        """Stop the cursor from blinking, which would repaint it all the time."""
        self._input.cursor_blink = False

    def open(self, words: str = "") -> None:
        """Show the bar and search."""
        self.display = True
        if words:
            self._input.value = words
        self.screen.set_focus(self._input)  # at once: text that is typed next must go there
        self._search(self._input.value)

    def action_close(self) -> None:
        """Close the bar; the history stays where it is."""
        self.display = False
        self._history.find("")
        self.post_message(self.Closed())

    def action_step(self, step: int) -> None:
        """Go to the next match."""
        if self._found:
            self._at = (self._at + step) % len(self._found)
            self._go()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self._search(event.value)

    def _search(self, words: str) -> None:
        self._found = self._history.find(words)
        self._at = len(self._found) - 1
        if self._found:
            self._go()
        else:
            self._count.update("no matches" if words else "")

    def _go(self) -> None:
        self._history.go_to(self._found[self._at])
        self._count.update(f"{self._at + 1} of {len(self._found)} · ↑↓ · Esc")
