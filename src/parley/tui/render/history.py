"""The widget that holds a whole conversation as blocks.

It paints lines, not widgets. Each block has a height, which is a guess until the block is painted
for this width. Only the view and a margin around it are painted; blocks further away keep their
height but not their lines. A line is found by bisection in the running sums.

The reader's position, the anchor, is a block and a line in it, not a number of lines from the top,
so nothing jumps when guesses above it turn out wrong or the width changes; or it is the end, which
is followed until the reader scrolls up. `update_layout` runs after changes: it paints around the
anchor, sums up the heights, and sets the size and the scroll position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from .block_layout import GUTTER, BlockLayout
from .blocks import Block, can_fold
from .spans import find_matches, highlight_spans, selected_span, selected_text
from .theme import Theme, theme_of

__all__ = ["History"]

_MARGIN_SCREENS = 1.5
_KEPT_SCREENS = 4
_LINE_BITS = 20
"""A selection counts lines as block and line in the block: those stay when heights change."""


class _LayoutKey(NamedTuple):
    """The parameters that blocks were painted with."""

    width: int
    theme: Theme
    style: Style


class History(ScrollView, can_focus=True):
    """A conversation from its beginning; the view follows the end."""

    DEFAULT_CSS = """
    History {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-color: $panel;
        scrollbar-color-hover: $primary;
        scrollbar-color-active: $primary;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Scroll up", show=False),
        Binding("down,j", "scroll_down", "Scroll down", show=False),
        Binding("pageup,b", "page_up", "Page up", show=False),
        Binding("pagedown,f", "page_down", "Page down", show=False),
        Binding("home,g", "scroll_home", "Go to the beginning", show=False),
        Binding("end,G", "follow", "Go to the end", show=False),
        Binding("shift+up,K", "step_card(-1)", "Previous card", show=False),
        Binding("shift+down,J", "step_card(1)", "Next card", show=False),
        Binding("enter,space", "fold", "Fold or unfold a card", show=False),
        Binding("ctrl+o", "fold_all", "Fold or unfold all", show=False),
    ]
    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False

    current: var[Block | None] = var[Block | None](None)
    """The card that keys are about; it has a mark at its side."""
    is_at_end: var[bool] = var(True)
    """Whether the view stays at the end as the conversation grows."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = BlockLayout()
        self._anchor = (0, 0)  # the block at the top of the view, and its line there
        self._layout_key: _LayoutKey | None = None
        self._is_due = False
        self._is_layout_paused = False
        self._is_moving = False  # this widget scrolls, not the reader
        self._is_painting = False
        self._words = ""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks, in order."""
        return self._layout.blocks

    @property
    def painted_lines(self) -> int:
        """The number of lines that are kept painted."""
        return self._layout.painted_lines

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self._layout.splice(len(self._layout), 0, blocks)
        self._changed()

    def replace(self, old: Sequence[Block], *new: Block) -> None:
        """Replace adjacent blocks by others."""
        start = self._layout.find(old[0]) if old else len(self._layout)
        self._layout.splice(start, len(old), new)
        index, line = self._anchor
        if index >= start + len(old):
            self._anchor = (index + len(new) - len(old), line)
        if any(block is self.current for block in old):
            self.current = None
        self._changed()

    def drop(self, *blocks: Block) -> None:
        """Remove blocks."""
        removed = {id(each) for each in blocks}
        found = [index for index, each in enumerate(self.blocks) if id(each) in removed]
        while found:  # those next to each other at once, the last first
            last = first = found.pop()
            while found and found[-1] == first - 1:
                first = found.pop()
            self.replace(self.blocks[first : last + 1])

    def clear(self) -> None:
        """Remove all blocks."""
        self._layout = BlockLayout()
        self._layout_key = None
        self._anchor = (0, 0)
        self.current = None
        self.follow()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.is_at_end = True
        self._changed()

    def go_to(self, block: Block) -> None:
        """Bring a block to the top of the view, if enough lines follow it."""
        self.is_at_end = False
        self._anchor = (self._layout.find(block), 0)
        self._changed()

    def find(self, words: str) -> list[Block]:
        """Return the blocks that contain a text, and highlight it; an empty one clears that."""
        self._words = words.casefold()
        self.refresh()
        return [each for each in self.blocks if words and self._words in each.plain().casefold()]

    def fold(self, block: Block, *, is_folded: bool) -> None:
        """Fold or unfold a block."""
        if can_fold(block) and block.is_folded != is_folded:
            block.is_folded = is_folded
            block.version += 1
            self._changed()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.follow()

    def action_step_card(self, step: int) -> None:
        """Move to the next foldable card, and bring it into view."""
        cards = [index for index, each in enumerate(self.blocks) if can_fold(each)]
        if not cards:
            return
        at = [self._layout.blocks[index] is self.current for index in cards]
        number = at.index(True) + step if True in at else len(cards) - 1
        index = cards[min(max(number, 0), len(cards) - 1)]
        self.current = self._layout.blocks[index]
        self._show_index(index)

    def action_fold(self) -> None:
        """Fold or unfold the current card, or else the last foldable one."""
        if self.current is None:
            self.action_step_card(0)
        if self.current is not None and can_fold(self.current):
            self.fold(self.current, is_folded=not self.current.is_folded)

    def action_fold_all(self) -> None:
        """Unfold all cards; if all are unfolded, fold them."""
        cards = [each for each in self.blocks if can_fold(each)]
        is_folded = not any(each.is_folded for each in cards)
        for card in cards:
            self.fold(card, is_folded=is_folded)

    def watch_current(self) -> None:
        """Move the mark."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the card whose head is clicked."""
        offset = event.get_content_offset(self)
        if offset is None or self.text_selection is not None:
            return
        found = self._layout.block_at(self.scroll_offset.y + offset.y)
        if found is None:
            return
        block, line = self._layout.blocks[found[0]], found[1]
        if line == block.gap and can_fold(block):
            self.current = block
            self.fold(block, is_folded=not block.is_folded)

    def _show_index(self, index: int) -> None:
        self.update_layout()
        top, height = self._layout.top(index), self._layout.height(index)
        view = Region(0, self.scroll_offset.y, self.size.width, self.size.height)
        if top < view.y or top + min(height, view.height) > view.bottom:
            self.scroll_to(y=max(top - 1, 0))

    # Layout

    def on_resize(self) -> None:
        """Update the layout; the block at the top stays."""
        self.update_layout()

    def notify_style_update(self) -> None:
        """Update the layout when the styles have changed."""
        super().notify_style_update()
        self._changed()

    def hold(self) -> None:
        """Postpone the layout until `release`, to do it once for many changes."""
        self._is_layout_paused = True

    def release(self) -> None:
        """Update the layout after `hold`."""
        self._is_layout_paused = False
        self.update_layout()

    def _changed(self) -> None:
        """Schedule an update of the layout, once for many changes."""
        if not self._is_due and not self._is_layout_paused and self.is_mounted:
            self._is_due = True
            self.call_next(self.update_layout)

    def update_layout(self) -> None:
        """Paint around the anchor, sum up the heights, and set the scroll position."""
        self._is_due = False
        width, height = self.scrollable_content_region.size
        if width <= GUTTER or height <= 0 or not self.is_mounted:
            return
        layout = self._layout
        layout_key = _LayoutKey(width, theme_of(self), self.rich_style)
        anchor_index = min(self._anchor[0], len(layout) - 1)
        was = layout.height(anchor_index) if anchor_index >= 0 else 0
        if layout_key != self._layout_key:
            self._layout_key = layout_key
            layout.reset(*layout_key)
        margin = int(height * _MARGIN_SCREENS)
        if self.is_at_end:
            first, stop = (
                layout.paint_up(len(layout), height),
                len(layout),
            )  # no margin is needed while following
            self._anchor = layout.block_at(max(layout.total - height, 0)) or (0, 0)
        else:
            first, stop = self._paint_around_anchor(was, height, margin)
        last_top = max(layout.total - height, 0)
        top = layout.top(self._anchor[0]) + self._anchor[1]
        self._move_to(min(top, last_top), Size(width, layout.total))
        layout.drop(first, stop, height * _KEPT_SCREENS)
        self.refresh()

    def _paint_around_anchor(self, was: int, height: int, margin: int) -> tuple[int, int]:
        """Paint around the anchor; return the range of the painted blocks.

        Args:
            was: The height of the anchor block before.
            height: The height of the view.
            margin: The number of lines to paint above and below it.
        """
        index, line = self._anchor
        index = max(min(index, len(self._layout) - 1), 0)
        guessed, now = self._layout.paint(index)
        if guessed is not None and was:  # the old height was a guess, or for another width
            line = line * now // was
        line = max(min(line, now - 1), 0)
        self._anchor = (index, line)
        stop = self._layout.paint_down(index, line + height + margin)
        return self._layout.paint_up(index, margin), stop

    def _move_to(self, y: int, size: Size) -> None:
        self._is_moving = True
        try:
            if size != self.virtual_size:
                self.virtual_size = size
            self.scroll_target_y = self.scroll_y = y
        finally:
            self._is_moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Set the anchor where the reader has scrolled to."""
        super().watch_scroll_y(old_value, new_value)
        if self._is_moving or round(old_value) == round(new_value):
            return
        y = round(new_value)
        self.is_at_end = y >= self.max_scroll_y
        self._anchor = self._layout.block_at(y) or (0, 0)
        self.update_layout()

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll without animation, which would conflict with the anchor."""
        options["animate"] = False
        super().scroll_to(x, y, **options)

    # Painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paint without offsets, which are only needed for the mouse and are slow."""
        self._is_painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._is_painting = False

    def render_line(self, y: int) -> Strip:
        """Return one line of the view; for the mouse with its offset in the text."""
        layout_key = self._layout_key
        found = self._layout.block_at(self.scroll_offset.y + y)
        strip = None if found is None else self._layout.line(*found)
        if layout_key is None or found is None or strip is None:
            return Strip.blank(self.size.width, self.rich_style)
        if self._words:
            strip = highlight_spans(
                strip, find_matches(strip.text, self._words), layout_key.theme.match
            )
        selection = self.text_selection
        if selection is not None:
            span = selected_span(selection, self._line_number(found))
            style = self.screen.get_component_rich_style("screen--selection")
            strip = highlight_spans(strip, [span] if span else [], style)
        if self.current is not None and self._layout.blocks[found[0]] is self.current:
            strip = self._marked(strip, found[1], layout_key)
        return strip if self._is_painting else strip.apply_offsets(0, self._line_number(found))

    def _marked(self, strip: Strip, line: int, layout_key: _LayoutKey) -> Strip:
        if self.current is None or line < self.current.gap:
            return strip
        bar = Segment("▌" * GUTTER, layout_key.style + layout_key.theme.accent)
        return Strip([bar, *strip.crop(GUTTER)], strip.cell_length)

    def _line_number(self, found: tuple[int, int]) -> int:
        return (found[0] << _LINE_BITS) + found[1]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text: whole blocks as their source, parts as painted."""
        start = selection.start.y >> _LINE_BITS if selection.start else 0
        end = selection.end.y >> _LINE_BITS if selection.end else len(self._layout) - 1
        texts = [self._selected(index, selection) for index in range(start, end + 1)]
        return "\n".join(texts), "\n"

    def _selected(self, index: int, selection: Selection) -> str:
        block = self._layout.blocks[index]
        is_first = selection.start is not None and selection.start.y >> _LINE_BITS == index
        is_last = selection.end is not None and selection.end.y >> _LINE_BITS == index
        if not is_first and not is_last:
            return "\n" * block.gap + block.plain()
        self._layout.paint(index)
        strips = [self._layout.line(index, line) for line in range(self._layout.height(index))]
        numbered: Iterable[tuple[int, Strip]] = (
            (self._line_number((index, line)), strip)
            for line, strip in enumerate(strips)
            if strip is not None
        )
        return selected_text(numbered, selection, GUTTER)

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()
