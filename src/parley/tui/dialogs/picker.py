"""A list to choose from, over the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from parley.tui.render.blocks import one_line
from parley.tui.render.lines import Line, clip, wrap
from parley.tui.render.theme import Theme

from .dialog import InputGuard
from .entry import Entry
from .fuzzy import best_matches
from .pane import Pane
from .rows import Row, Rows

__all__ = ["ListPicker"]

T = TypeVar("T")
_NONE = Style.null()
_TYPED_CHARS = 200
"""The maximum length of the filter."""


class ListPicker(ModalScreen[T | None], Generic[T]):
    """Lets the user choose a row; the result is its value, or None if the user leaves.

    The focus stays in the filter; the keys that move the mark work there.
    """

    DEFAULT_CSS = """
    ListPicker { align: center middle; }
    ListPicker > Vertical {
        width: 90%;
        max-width: 100;
        height: auto;
        max-height: 90%;
        padding: 0 1;
        background: $surface;
        border: solid $primary;
    }
    ListPicker Entry { background: $panel; margin-bottom: 1; }
    ListPicker Rows { height: auto; max-height: 60vh; min-height: 1; }
    ListPicker #keys { margin-top: 1; }
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Row[T]],
        *,
        nothing: str = "There is nothing to choose from.",
        current: T | None = None,
        is_unrequested: bool = False,
    ) -> None:
        """Offer rows.

        Args:
            title: The title of the list.
            rows: The rows.
            nothing: The text if there are none.
            current: The value of the row that the mark begins on; by default the first.
            is_unrequested: Whether it appears without a request of the user: then the mark begins
                nowhere, and keys that are pressed at that moment choose nothing.
        """
        super().__init__()
        self._offered: list[Row[T]] = []
        self._texts: list[str] = []
        self._title_line = ""
        self._nothing = nothing
        self._count_extra = 0
        self._is_unrequested = is_unrequested
        self.input_guard = InputGuard()
        """The time in which no key chooses, if it is a question."""
        self.head = Pane(self._paint_head, id="head")
        self.typed = Entry(placeholder="type to filter", max_length=_TYPED_CHARS)
        self.list: Rows[T] = Rows(id="rows")
        self.keys = Pane(self._paint_keys, id="keys")
        self._take(title, rows)
        self.list.all_rows = list(rows)
        self.list.mark = self._first(rows, current)

    def compose(self) -> ComposeResult:
        """Show the title, the filter, the list and the keys."""
        with Vertical():
            yield self.head
            yield self.typed
            yield self.list
            yield self.keys

    def on_mount(self) -> None:
        """Filter from the first key; the guard starts when it has been painted."""
        self.typed.focus()
        self.call_after_refresh(self.input_guard.begin)

    def offer(self, title: str, rows: Sequence[Row[T]], *, current: T | None = None) -> None:
        """Offer other rows."""
        self._take(title, rows)
        self._count_extra = 0
        with self.prevent(Input.Changed):
            self.typed.value = ""
        self._show(rows, self._first(rows, current))

    def extra_rows(self, typed: str) -> Sequence[Row[T]]:
        """Return rows to show after the matching ones; for subclasses."""
        del typed
        return ()

    def chosen(self, row: Row[T]) -> None:
        """Return the chosen row; a subclass may do something else with it."""
        self.dismiss(row.value)

    def left(self) -> None:
        """Leave; a subclass may go back instead."""
        self.dismiss(None)

    def fitting(self, typed: str, rows: Sequence[Row[T]]) -> list[Row[T]]:
        """Return the rows that match the filter, the best first."""
        return [rows[number] for number in best_matches(typed, (row.text() for row in rows))]

    def refilter(self, *, keeps_mark: bool = False) -> None:
        """Show the rows that match; the mark goes to the first one unless it is to stay."""
        typed = self.typed.value.strip()
        rows: list[Row[T]] = self._offered
        if typed:
            rows = [
                _ungrouped(self._offered[number]) for number in best_matches(typed, self._texts)
            ]
        extra = self.extra_rows(typed)
        self._count_extra = len(extra)
        rows = [*rows, *extra]
        mark = self._first(rows, None, is_typed=bool(typed))
        kept = self.list.mark
        self._show(rows, kept if keeps_mark and kept is not None and kept < len(rows) else mark)

    def _take(self, title: str, rows: Sequence[Row[T]]) -> None:
        self._title_line = one_line(title)
        self._offered = list(rows)
        self._texts = [row.text() for row in rows]

    def _show(self, rows: Sequence[Row[T]], mark: int | None) -> None:
        if self.is_mounted:
            self.list.show(rows, mark)
            self.head.repaint()
            self.keys.repaint()
        else:
            self.list.all_rows, self.list.mark = list(rows), mark

    def _first(
        self, rows: Sequence[Row[T]], current: T | None, *, is_typed: bool = False
    ) -> int | None:
        able = [number for number, row in enumerate(rows) if row.can_choose]
        if current is not None:
            able = [number for number in able if rows[number].value == current] or able
        return able[0] if able and (is_typed or not self._is_unrequested) else None

    def _paint_head(self, width: int, theme: Theme) -> list[Line]:
        extra, count = self._count_extra, len(self._offered)
        shown = len(self.list.all_rows) - extra
        count_text = f"  {count:,}" if shown == count else f"  {shown:,} of {count:,}"
        count_text += f", and {extra:,} more" if extra else ""
        return [clip([(self._title_line, theme.strong), (count_text, theme.faint)], width)]

    def _paint_keys(self, width: int, theme: Theme) -> list[Line]:
        lines: list[Line] = []
        if not self._offered:
            lines += wrap([(self._nothing, _NONE)], width)
        elif not self.list.all_rows:
            lines += wrap([("Nothing fits.", _NONE)], width)
        keys = "↑ ↓ move · Enter choose · Esc leave" if self._offered else "Esc leave"
        return lines + wrap([(keys, theme.faint)], width)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Filter."""
        message.stop()
        if self._is_unrequested:
            self.input_guard.begin()
        self.refilter()

    def on_key(self, event: events.Key) -> None:
        """Move, choose, or leave; letters go to the filter."""
        if self._press(event):
            event.stop()
            event.prevent_default()

    def _press(self, event: events.Key) -> bool:
        steps = {"up": -1, "down": 1, "shift+tab": -1, "tab": 1}
        if event.key in steps:
            self.list.move(steps[event.key])
        elif event.key in ("pageup", "pagedown"):
            self.list.page(-1 if event.key == "pageup" else 1)
        elif event.key == "escape":
            self.left()
        elif event.key == "enter":
            row = self.list.marked
            if row is not None and row.can_choose and self._counts(event.time):
                self.chosen(row)
        else:
            return False
        return True

    def on_rows_chosen(self, message: Rows.Chosen) -> None:
        """Choose the row that was clicked."""
        message.stop()
        if self._counts(message.at):
            self.chosen(message.row)

    def _counts(self, at: float) -> bool:
        return not self._is_unrequested or self.input_guard.is_over(at)


def _ungrouped(row: Row[T]) -> Row[T]:
    """Return a row with its group in its text, since the rows are sorted by match."""
    if not row.group:
        return row
    detail = " · ".join(each for each in (row.group, row.detail) if each)
    return Row(row.value, row.label, detail, row.below, sign=row.sign, can_choose=row.can_choose)
