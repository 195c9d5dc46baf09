"""The panel below the text: a suggestion as a small diff, or hints."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from parley._display_text import sanitize_text
from parley.tui.render.theme import theme_of

from .suggestion_view import Row

__all__ = ["SuggestionPanel"]

_MIN_ROWS = 2
_TAB = 4
_SIGNS = {"removed": "-", "added": "+", "place": "\u2192"}


class SuggestionPanel(Static):
    """A few lines about the suggestion.

    Its height is constant, so that the text above does not move.
    """

    DEFAULT_CSS = """
    SuggestionPanel {
        height: 6;
        padding: 0 1;
        background: $surface;
        border-top: solid $primary 40%;
    }
    """

    _shown: tuple[str, Sequence[Row], str] | None = None

    def on_resize(self) -> None:
        """Adapt to the size."""
        if self._shown is not None:
            self.show(*self._shown)

    def show_message(self, text: str) -> None:
        """Show a message."""
        self._shown = None
        self.styles.text_wrap = "wrap"
        self.update(Text(sanitize_text(text), style=theme_of(self).faint))

    def show(self, heading: str, rows: Sequence[Row], keys: str) -> None:
        """Show a suggestion."""
        self._shown = (heading, rows, keys)
        theme = theme_of(self)
        self.styles.text_wrap, self.styles.text_overflow = "nowrap", "ellipsis"
        text = Text().append(sanitize_text(heading, is_line=True), theme.accent)
        if text.cell_len + len(keys) + 3 <= self.content_size.width:
            text.append(f"   {keys}", theme.faint)
        styles = {"removed": theme.removed + theme.bad, "added": theme.added + theme.good}
        digits = max((len(str(row.number)) for row in rows), default=1)
        room = max(_MIN_ROWS, self.content_size.height - 1)
        most = room if len(rows) <= room else room - 1
        for row in rows[:most]:
            text.append(f"\n{row.number:>{digits}} ", theme.faint)
            style = styles.get(row.kind, Style.null())
            text.append(f"{_SIGNS[row.kind]} {sanitize_text(row.text.expandtabs(_TAB))}", style)
        if len(rows) > most:
            text.append(f"\n{'':>{digits}} and {len(rows) - most} more lines", theme.faint)
        self.update(text)
