"""The text that is edited, with what is suggested in it."""

from __future__ import annotations

from collections.abc import Sequence

from pygments.lexer import Lexer
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import TextArea

from parley._display_text import sanitize_text
from parley.nes.engine import Spot
from parley.tui.render.painting import look_of
from parley.tui.render.syntax import coloured, lexer_of

from .view import Mark

__all__ = ["Page"]

_KEYS = frozenset({"tab", "escape"})
_TAB = 4
_MAX_COLOURED_LINES = 5_000
"""A longer text is painted without looking at the whole of it."""


class Page(TextArea):
    """A text area that shows ghost text; Tab and Escape are for that while there is some.

    Who has typed a word and presses Tab a moment before something is suggested wants that, and no
    blanks behind the word: there Tab asks. In the indentation it indents.
    """

    DEFAULT_CSS = """
    Page {
        height: 1fr;
        border: none;
        padding: 0;
        background: $background;
        scrollbar-size-vertical: 1;
    }
    Page:focus {
        border: none;
    }
    """

    class Decided(Message):
        """The user takes what is shown, or does not want it."""

        def __init__(self, takes: bool) -> None:
            super().__init__()
            self.takes = takes

    class Asked(Message):
        """The user has pressed Tab behind a text: something may be about to be suggested."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(
            text,
            soft_wrap=True,
            show_line_numbers=True,
            tab_behavior="indent",
            highlight_cursor_line=False,
            id="page",
        )
        self.cursor_blink = False
        self.is_asking = False
        """Whether something is suggested, so that Tab and Escape are about that."""
        self._marks: dict[int, list[Mark]] = {}
        self._lexer: Lexer | None = lexer_of(name)
        self._coloured: tuple[str, list[list[tuple[str, Style]]]] = ("", [])

    @property
    def spot(self) -> Spot:
        """Where the cursor is."""
        return Spot(*self.cursor_location)

    def mark(self, marks: Sequence[Mark]) -> None:
        """Show these marks and no others."""
        self._marks = {}
        for each in sorted(marks):
            self._marks.setdefault(each.line, []).append(each)
        self.notify_style_update()  # lines that were painted are kept otherwise
        self.refresh()

    def reveal(self, *, is_far: bool) -> None:
        """Scroll until the first mark is seen.

        Args:
            is_far: Whether the cursor may go out of sight for that; who types looks there.
        """
        if not self._marks or not self.size.height:
            return
        line = min(self._marks)
        rows = len(self.wrapped_document.get_offsets(line)) + 1
        top = self.wrapped_document.location_to_offset((line, 0)).y
        here = self.wrapped_document.location_to_offset(self.cursor_location).y
        height, at = self.size.height, self.scroll_offset.y
        if max(here + 1, top + rows) - min(here, top) > height:
            if is_far and not at <= top <= at + height - rows:
                self.scroll_to(y=max(0, top - height // 2), animate=False)
            return
        low, high = max(here + 1, top + rows) - height, min(here, top)
        self.scroll_to(y=min(max(at, low), high), animate=False)

    async def on_key(self, event: events.Key) -> None:
        """Decide about what is suggested; else a key is what it always is."""
        # A binding is obeyed when the key has gone up to the app: what is typed meanwhile must not
        # overtake it.
        bound = self._bindings.key_to_bindings.get(event.key, [])
        is_decision = self.is_asking and event.key in _KEYS
        is_question = not is_decision and event.key == "tab" and self._is_behind_text()
        if is_decision or is_question or bound or event.key == "escape":
            event.stop()
            event.prevent_default()
        if is_decision:
            self.post_message(self.Decided(event.key == "tab"))
        elif is_question:
            self.post_message(self.Asked())
        elif bound:
            await self.run_action(bound[0].action)

    def _is_behind_text(self) -> bool:
        """Return whether the cursor is after more than indentation, with nothing selected."""
        line, column = self.cursor_location
        head = self.document.get_line(line)[:column]
        return self.selection.is_empty and bool(head.strip())

    def get_line(self, line_index: int) -> Text:
        """Return a line in its colours, with the marks that are in it."""
        line = self._coloured_line(line_index)
        marks = self._marks.get(line_index, [])
        if not marks:
            return line
        wraps = self.wrapped_document.get_offsets(line_index)
        last = wraps[-1] if wraps else 0
        look = look_of(self)
        gone = look.removed + look.bad + Style(strike=True)
        ghost = look.good + Style(italic=True, dim=not look.has_colours)
        for mark in reversed(marks):
            line.stylize(gone, mark.start, mark.end)
            if mark.end >= last and self._has_room(mark):
                tail = line[mark.end :]
                line = line[: mark.end]
                line.append(sanitize_text(mark.ghost.expandtabs(_TAB)), ghost)
                line.append_text(tail)
        line.end = ""
        return line

    def _has_room(self, mark: Mark) -> bool:
        """Return whether ghost text can be put in without moving the cursor or what is selected."""
        start, end = sorted(self.selection)
        is_elsewhere = not start[0] <= mark.line <= end[0]
        return is_elsewhere or (start == end and mark.end >= end[1])

    def _coloured_line(self, index: int) -> Text:
        plain = self.document.get_line(index)
        if self.document.line_count > _MAX_COLOURED_LINES:
            return Text(plain, end="", no_wrap=True)
        if self._coloured[0] != self.text:
            code = "\n".join(self.document.lines)
            self._coloured = (self.text, coloured(code, self._lexer, look_of(self)))
        runs = self._coloured[1]
        text = Text(plain, end="", no_wrap=True)
        if index < len(runs) and "".join(part for part, _ in runs[index]) == plain:
            column = 0
            for part, style in runs[index]:
                text.stylize(style, column, column + len(part))
                column += len(part)
        return text
