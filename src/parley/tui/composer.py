"""The composer, in which prompts are written.

Enter sends, and Shift-Enter, Alt-Enter or Ctrl-J begin a new line. A list above the input offers
completions: commands after `/`, files after `@`, and earlier prompts with Ctrl-R. On the first and
the last line, Up and Down go through earlier prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from parley.conversation.completion import Completion, Item
from parley.conversation.prompt_history import PromptHistory

from .prompt_area import PromptArea
from .render.blocks import one_line

__all__ = ["Composer"]

_SHOWN = 50
_WIDEST_LABEL = 32
_NEW_LINE = frozenset({"shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"})
_AS_RETURN = frozenset({"shift+\r", "\r", "ctrl+\r"})
"""Textual's names of Shift-, Alt- and Ctrl-Enter in terminals with xterm's key encoding."""


class _CompletionList(OptionList, can_focus=False):
    """The list of completions."""


class Composer(Vertical):
    """An input for prompts with completion and a history."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        background: $surface;
    }
    Composer Horizontal {
        height: auto;
        border-top: solid $primary 40%;
    }
    Composer #mark {
        width: 3;
        padding-left: 1;
        color: $primary;
        text-style: bold;
    }
    Composer PromptArea {
        height: auto;
        min-height: 1;
        max-height: 40vh;
        padding: 0;
        background: $surface;
    }
    Composer PromptArea .text-area--placeholder {
        color: $foreground 60%;
    }
    Composer _CompletionList {
        display: none;
        height: auto;
        max-height: 40vh;
        padding: 0 1;
        border: none;
        border-top: solid $accent 60%;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
    }
    Composer _CompletionList:nocolor > .option-list--option-highlighted {
        text-style: bold underline;
    }
    """

    class Sent(Message):
        """The user has sent a prompt."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """The user wants to quit."""

    class Turned(Message):
        """The user wants to scroll the history by pages."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(
        self,
        recall: PromptHistory,
        complete: Callable[[str, int], Completion | None],
        take_back: Callable[[], str | None],
        pasted: Callable[[str], str] = str,
    ) -> None:
        """Prepare an empty input.

        Args:
            recall: Earlier prompts.
            complete: Finds completions for a text and a cursor position.
            take_back: Removes the last queued prompt and returns it; None if none is queued.
            pasted: Returns the text to insert for a pasted text.
        """
        super().__init__()
        self._recall = recall
        self._complete = complete
        self._take_back = take_back
        self._area = PromptArea(self._handle_key, pasted)
        self._list = _CompletionList()
        self._completion: Completion | None = None
        self._draft: str | None = None  # the text before a search
        self.touched_at = 0.0
        """The monotonic time of the last key here, except for one that sends."""
        self._age = -1  # the index of the earlier prompt that is shown; -1 for none
        self._unsent = ""  # the text before earlier prompts were shown
        self._closed_for = ""  # the text for which the list was closed
        self._keys: dict[str, Callable[[], bool]] = {
            "enter": self._enter,
            "tab": self._tab,
            "escape": self._escape,
            "up": lambda: self._step(-1),
            "down": lambda: self._step(1),
            "ctrl+r": self.search,
            "ctrl+d": self._leave,
            "pageup": lambda: self._turn(-1),
            "pagedown": lambda: self._turn(1),
            **dict.fromkeys(_NEW_LINE | _AS_RETURN, self._new_line),
        }

    def compose(self) -> ComposeResult:
        """Lay out the list above the input."""
        yield self._list
        with Horizontal():
            yield Static(">", id="mark", markup=False)
            yield self._area

    # The interface for other widgets

    @property
    def text(self) -> str:
        """The text."""
        return self._area.text

    @text.setter
    def text(self, text: str) -> None:
        self._age, self._draft = -1, None
        self._put(text)

    @property
    def is_listing(self) -> bool:
        """Return whether a list is open."""
        return self._list.display

    @property
    def offered(self) -> Sequence[Item]:
        """The completions in the list."""
        return self._completion.items if self._completion is not None else ()

    def focus_input(self) -> None:
        """Give the input the focus."""
        self._area.focus()

    def write(self, text: str) -> None:
        """Insert text at the cursor, and give the input the focus."""
        self.screen.set_focus(self._area)  # at once: text that is typed next must follow it
        self._area.insert(text)

    @property
    def has_keys(self) -> bool:
        """Return whether the input has the focus."""
        return self._area.has_focus

    def refresh_completions(self) -> None:
        """Update the list of completions."""
        text, cursor = self._area.text, self._cursor()
        if self._draft is not None:
            self._show(_found(self._recall.search(text), len(text)))
        elif not text or text == self._closed_for or self._age >= 0:
            self._show(None)
        else:
            self._closed_for = ""
            self._show(self._complete(text, cursor))

    # Keys

    def _handle_key(self, key: str) -> bool:
        self.touched_at = monotonic()
        handle = self._keys.get(key)
        return handle is not None and handle()

    def _enter(self) -> bool:
        text = self._area.text
        if self.is_listing and self._accept(is_sure=False):
            return True
        if self._draft is not None:  # nothing was found
            return True
        if text.endswith("\\") and self._cursor() == len(text):
            self._area.action_delete_left()
            return self._new_line()
        self._send()
        return True

    def _send(self) -> None:
        text = self._area.text
        self.text = ""
        self.touched_at = 0.0  # after sending, the user is waiting and not typing
        self.post_message(self.Sent(text))

    def _new_line(self) -> bool:
        self._area.insert("\n")
        return True

    def _tab(self) -> bool:
        return self.is_listing and self._accept(is_sure=True)

    def _escape(self) -> bool:
        if self._draft is not None:
            self.text = self._draft
            return True
        if self.is_listing:
            self._closed_for = self._area.text
            self._show(None)
            return True
        return False

    def _step(self, step: int) -> bool:
        if self.is_listing:
            count = self._list.option_count
            self._list.highlighted = ((self._list.highlighted or 0) + step) % count
            return True
        navigator, here = self._area.navigator, self._area.cursor_location
        if step < 0:
            return navigator.is_first_wrapped_line(here) and self._older()
        return self._age >= 0 and navigator.is_last_wrapped_line(here) and self._newer()

    def _older(self) -> bool:
        if not self._area.text and self._age < 0 and (back := self._take_back()) is not None:
            self.text = back
            return True
        if self._age + 1 < len(self._recall.prompts):
            if self._age < 0:
                self._unsent = self._area.text
            self._age += 1
            self._put(self._recall.prompts[self._age])
            if not self._area.navigator.is_first_wrapped_line(self._area.cursor_location):
                self._area.move_cursor((0, 0))  # so that Up continues to older prompts
        return True

    def _newer(self) -> bool:
        self._age -= 1
        self._put(self._recall.prompts[self._age] if self._age >= 0 else self._unsent)
        return True

    def search(self) -> bool:
        """Search earlier prompts, or go to the next match."""
        if self._draft is None:
            self._draft, self._age = self._area.text, -1
            self.refresh_completions()
        else:
            self._step(1)
        return True

    def _leave(self) -> bool:
        if self._area.text:
            return False
        self.post_message(self.Left())
        return True

    def _turn(self, pages: int) -> bool:
        if self.is_listing:
            return False
        self.post_message(self.Turned(pages))
        return True

    # The list

    def _show(self, completion: Completion | None) -> None:
        is_same = self._completion == completion
        self._completion = completion
        is_open = completion is not None and bool(completion.items)
        if not is_same:
            self._list.clear_options()
            if completion is not None:
                self._list.add_options(_options(completion.items))
            self._list.highlighted = 0 if is_open else None
        self._list.display = is_open
        self._list.border_title = "earlier prompts" if self._draft is not None else None

    def _accept(self, *, is_sure: bool) -> bool:
        """Insert the marked completion.

        Args:
            is_sure: Whether to insert it even if only a blank is missing.

        Returns:
            Whether anything was done.
        """
        self.refresh_completions()  # the last key may not have been processed yet
        completion, at = self._completion, self._list.highlighted
        if completion is None or at is None:
            return False
        item = completion.items[at]
        if self._draft is not None:
            self.text = item.text
            return True
        text = self._area.text
        if not is_sure and text[completion.start : completion.end].strip() == item.text.strip():
            self._show(None)
            return False
        written = item.text.rstrip() if text[completion.end :].startswith(" ") else item.text
        start, end = _place(text, completion.start), _place(text, completion.end)
        self._area.replace(written, start, end)
        self._area.move_cursor(_place(self._area.text, completion.start + len(written)))
        self._show(None)
        return True

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._accept(is_sure=True)
        self._area.focus()

    @on(TextArea.Changed)
    @on(TextArea.SelectionChanged)
    def _written(self, event: TextArea.Changed | TextArea.SelectionChanged) -> None:
        event.stop()
        if self._age >= 0 and self._area.text != self._recall.prompts[self._age]:
            self._age = -1  # it was edited, so it is a new prompt
        self.refresh_completions()

    def _put(self, text: str) -> None:
        self._area.text = text
        self._area.move_cursor(self._area.document.end)
        self.refresh_completions()

    def _cursor(self) -> int:
        row, column = self._area.cursor_location
        return sum(len(each) + 1 for each in self._area.text.split("\n")[:row]) + column


def _place(text: str, index: int) -> tuple[int, int]:
    """Return the line and the column of a character."""
    before = text[:index].split("\n")
    return len(before) - 1, len(before[-1])


def _found(prompts: Sequence[str], end: int) -> Completion:
    return Completion(0, end, [Item(each, each) for each in prompts[:_SHOWN]])


def _options(items: Sequence[Item]) -> list[Option]:
    labels = [one_line(each.label) for each in items]
    width = min(max(map(cell_len, labels), default=0), _WIDEST_LABEL)
    options: list[Option] = []
    for item, label in zip(items, labels, strict=True):
        detail = one_line(item.detail)
        gap = " " * (max(width - cell_len(label), 0) + 2) if detail else ""
        options.append(Option(Content.assemble(label, (f"{gap}{detail}", "$foreground-muted"))))
    return options
