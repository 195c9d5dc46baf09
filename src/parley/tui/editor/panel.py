"""Below the text: what is suggested as a small diff, or what to try."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from parley._display_text import sanitize_text
from parley.tui.render.painting import look_of

from .view import Row

__all__ = ["Panel"]

_MIN_ROWS = 2
_TAB = 4
_SIGNS = {"removed": "-", "added": "+", "place": "\u2192"}


class Panel(Static):
    """A few lines about what is suggested.

    It is always as high: a text that jumps about cannot be read.
    """

    DEFAULT_CSS = """
    Panel {
        height: 6;
        padding: 0 1;
        background: $surface;
        border-top: solid $primary 40%;
    }
    """

    _shown: tuple[str, Sequence[Row], str] | None = None

    def on_resize(self) -> None:
        """Show as much as there is room for."""
        if self._shown is not None:
            self.show(*self._shown)

    def tell(self, text: str) -> None:
        """Say something."""
        self._shown = None
        self.styles.text_wrap = "wrap"
        self.update(Text(sanitize_text(text), style=look_of(self).faint))

    def show(self, heading: str, rows: Sequence[Row], keys: str) -> None:
        """Show what is suggested."""
        self._shown = (heading, rows, keys)
        look = look_of(self)
        self.styles.text_wrap, self.styles.text_overflow = "nowrap", "ellipsis"
        text = Text().append(sanitize_text(heading, is_line=True), look.accent)
        if text.cell_len + len(keys) + 3 <= self.content_size.width:
            text.append(f"   {keys}", look.faint)
        styles = {"removed": look.removed + look.bad, "added": look.added + look.good}
        digits = max((len(str(row.number)) for row in rows), default=1)
        room = max(_MIN_ROWS, self.content_size.height - 1)
        most = room if len(rows) <= room else room - 1
        for row in rows[:most]:
            text.append(f"\n{row.number:>{digits}} ", look.faint)
            style = styles.get(row.kind, Style.null())
            text.append(f"{_SIGNS[row.kind]} {sanitize_text(row.text.expandtabs(_TAB))}", style)
        if len(rows) > most:
            text.append(f"\n{'':>{digits}} and {len(rows) - most} more lines", look.faint)
        self.update(text)
