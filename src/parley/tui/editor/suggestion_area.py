"""The text area with suggestions in the text."""

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
from parley.tui.render.syntax import highlight_code, lexer_for_path
from parley.tui.render.theme import theme_of

from .suggestion_view import Mark

__all__ = ["SuggestionArea"]

_KEYS = frozenset({"tab", "escape"})
_TAB = 4
_MAX_COLOURED_LINES = 5_000
"""The maximum length of a text that is highlighted as a whole."""


class SuggestionArea(TextArea):
    """A text area that shows ghost text; while there is some, Tab accepts and Escape rejects it.

    After a word, Tab requests a suggestion: a user who presses it a moment too early wants the
    suggestion and no blanks. In the indentation, Tab indents.
    """

    DEFAULT_CSS = """
    SuggestionArea {
        height: 1fr;
        border: none;
        padding: 0;
        background: $background;
        scrollbar-size-vertical: 1;
    }
    SuggestionArea:focus {
        border: none;
    }
    """

    class Decided(Message):
        """The user has accepted or rejected the suggestion."""

        def __init__(self, takes: bool) -> None:
            super().__init__()
            self.takes = takes

    class Requested(Message):
        """The user has pressed Tab after a text, to request a suggestion."""

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
        """Whether there is a suggestion, which Tab and Escape refer to."""
        self._marks: dict[int, list[Mark]] = {}
        self._lexer: Lexer | None = lexer_for_path(name)
        self._coloured: tuple[str, list[list[tuple[str, Style]]]] = ("", [])

    @property
    def cursor_position(self) -> Spot:
        """The position of the cursor."""
        return Spot(*self.cursor_location)

    def mark(self, marks: Sequence[Mark]) -> None:
        """Show these marks instead of the previous ones."""
        self._marks = {}
        for each in sorted(marks):
            self._marks.setdefault(each.line, []).append(each)
        self.notify_style_update()  # lines that were painted are kept otherwise
        self.refresh()

    def reveal(self, *, is_far: bool) -> None:
        """Scroll until the first mark is visible.

        Args:
            is_far: Whether the cursor may scroll out of view; a user who is typing looks at it.
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
        """Accept or reject a suggestion; handle other keys as usual."""
        # A binding is obeyed when the key has gone up to the app: what is typed meanwhile must not
        # overtake it.
        bound = self._bindings.key_to_bindings.get(event.key, [])
        is_decision = self.is_asking and event.key in _KEYS
        is_question = not is_decision and event.key == "tab" and self._is_after_text()
        if is_decision or is_question or bound or event.key == "escape":
            event.stop()
            event.prevent_default()
        if is_decision:
            self.post_message(self.Decided(event.key == "tab"))
        elif is_question:
            self.post_message(self.Requested())
        elif bound:
            await self.run_action(bound[0].action)

    def _is_after_text(self) -> bool:
        """Return whether the cursor is after more than indentation, with nothing selected."""
        line, column = self.cursor_location
        head = self.document.get_line(line)[:column]
        return self.selection.is_empty and bool(head.strip())

    def get_line(self, line_index: int) -> Text:
        """Return a line in its colours, with its marks."""
        line = self._coloured_line(line_index)
        marks = self._marks.get(line_index, [])
        if not marks:
            return line
        wraps = self.wrapped_document.get_offsets(line_index)
        last = wraps[-1] if wraps else 0
        theme = theme_of(self)
        removed = theme.removed + theme.bad + Style(strike=True)
        ghost = theme.good + Style(italic=True, dim=not theme.has_colours)
        for mark in reversed(marks):
            line.stylize(removed, mark.start, mark.end)
            if mark.end >= last and self._has_room(mark):
                tail = line[mark.end :]
                line = line[: mark.end]
                line.append(sanitize_text(mark.ghost.expandtabs(_TAB)), ghost)
                line.append_text(tail)
        line.end = ""
        return line

    def _has_room(self, mark: Mark) -> bool:
        """Return whether ghost text fits without moving the cursor or the selection."""
        start, end = sorted(self.selection)
        is_elsewhere = not start[0] <= mark.line <= end[0]
        return is_elsewhere or (start == end and mark.end >= end[1])

    def _coloured_line(self, index: int) -> Text:
        plain = self.document.get_line(index)
        if self.document.line_count > _MAX_COLOURED_LINES:
            return Text(plain, end="", no_wrap=True)
        if self._coloured[0] != self.text:
            code = "\n".join(self.document.lines)
            self._coloured = (self.text, highlight_code(code, self._lexer, theme_of(self)))
        runs = self._coloured[1]
        text = Text(plain, end="", no_wrap=True)
        if index < len(runs) and "".join(part for part, _ in runs[index]) == plain:
            column = 0
            for part, style in runs[index]:
                text.stylize(style, column, column + len(part))
                column += len(part)
        return text
