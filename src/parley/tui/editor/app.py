"""The app of `parley nes demo`: a text, suggestions for it, and five keys.

The suggestions come from an agent over the protocol, as in any editor: the app reports what the
user does to `NesClient`, which calls back with suggestions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, NoColor
from textual.geometry import Size
from textual.widgets import Static, TextArea
from textual.widgets.text_area import Selection

from parley._display_text import sanitize_text
from parley.agent import Agent
from parley.errors import AcpError, LocalProtocolError, RequestError
from parley.nes import Document, Engine, Spot, Suggestions
from parley.nes.client import (
    EditSuggestion,
    JumpSuggestion,
    NesClient,
    NesOptions,
    Suggestion,
    Timing,
)
from parley.tui.log_forwarder import LogForwarder
from parley.tui.render.theme import ANSI_DARK, ANSI_LIGHT, THEMES, ControlFilter, theme_of
from parley.tui.signals import ExitSignals

from .file import OpenFile
from .panel import SuggestionPanel
from .sample import FIRST, HINT
from .suggestion_area import SuggestionArea
from .suggestion_view import diff_rows, marks_in_text, refusal_text, suggestion_heading

__all__ = ["EditorApp", "connect_engine", "edit"]

_QUIET = "No suggestion at the moment."
_KEYS = "Tab accepts, Esc rejects"
_ALL_KEYS = (
    "Tab accept  Esc reject  F2 ask  Ctrl-Z undo  Ctrl-S save  Ctrl-Q quit",
    "Tab accept  Esc reject  F2 ask  Ctrl-Q quit",
    "Tab yes  Esc no  F2 ask  ^Q quit",
)
"""The first one that fits is shown."""
_LOW = 18
"""On a screen with fewer lines, the panel is small."""
_FAST = Timing(debounce_after=0.0, throttle_after=0.1)
"""Seconds to wait for a pause; the engine in this process is faster than any typing."""


class EditorApp(App[int]):
    """`parley nes demo`."""

    TITLE = "Parley"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    EditorApp #title {
        height: 1;
        padding: 0 1;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    EditorApp #status, EditorApp #keys {
        height: auto;
        max-height: 2;
        padding: 0 1;
        color: $foreground 70%;
        background: $panel;
    }
    EditorApp #status {
        display: none;
        max-height: 3;
    }
    EditorApp SuggestionPanel.low {
        height: 4;
    }
    TextArea:nocolor .text-area--selection, TextArea:nocolor .text-area--cursor {
        text-style: reverse;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,ctrl+space", "ask", "Ask", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("ctrl+q", "leave", "Leave", priority=True),
        Binding("ctrl+c", "copy", "Copy", priority=True),
    ]

    def __init__(self, file: OpenFile, *, theme: str = "dark") -> None:
        """Prepare the app.

        Args:
            file: What is edited.
            theme: `dark` or `light`.
        """
        super().__init__()
        for each in THEMES:
            self.register_theme(each)
        self.theme = f"parley-{theme}"
        self.ansi_theme_dark, self.ansi_theme_light = ANSI_DARK, ANSI_LIGHT
        self.file = file
        self.client: NesClient | None = None
        self.page = SuggestionArea(file.saved, file.name)
        self.panel = SuggestionPanel()
        self._title = Static(id="title")
        self._status = Static(id="status")
        self._foot = Static(id="keys")
        self._document: Document | None = None
        self._guard = ControlFilter()
        self._warned = False
        self._trouble = ""
        self._width = 80
        self._follows = False
        """Whether the user is jumping between suggestions instead of typing."""
        self._idle = HINT if file.path is None else _QUIET

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Add the filter that removes control characters."""
        colourless = [NoColor()] if self.no_color else []
        return [*super().get_line_filters(), *colourless, self._guard]

    def compose(self) -> ComposeResult:
        """Lay out the text, the suggestion and the keys."""
        yield self._title
        yield self.page
        yield self.panel
        yield self._status
        yield self._foot

    async def on_ready(self) -> None:
        """Open the document once the visible part is known."""
        self.page.focus()
        if self.file.path is None:
            self.page.selection = Selection.cursor(FIRST)
        self._fit(self.size)
        self._paint_title()
        self.panel.show_message(self._idle)
        async with self._telling() as client:
            if client is not None:
                file = self.file
                self._document = await client.open(file.uri, file.language_id, file.saved)
                await client.focus(file.uri, self.page.cursor_position)

    def on_resize(self, event: events.Resize) -> None:
        """Adapt to the size of the screen."""
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        self._width = size.width
        self.panel.set_class(size.height < _LOW, "low")
        self._paint_keys()

    # What the user does

    @on(TextArea.Changed)
    async def _changed(self) -> None:
        """Report the new text to the client, except for the changes that it requested."""
        self._warned = False
        self._paint_title()
        async with self._telling():
            await self._sync_text()
        self._paint_suggestion()

    async def _sync_text(self) -> None:
        """Update the client's copy of the text; the text may change meanwhile."""
        while self.client and self._document and self.page.text != self._document.text:
            self.page.mark([])
            self._follows = False
            await self.client.set_text(self.file.uri, self.page.text, self.page.cursor_position)

    @on(TextArea.SelectionChanged)
    async def _moved(self) -> None:
        """Report the position of the cursor to the client."""
        is_known = self._document is not None and self.page.text == self._document.text
        async with self._telling() as client:
            if client is not None and is_known:
                await client.move(self.file.uri, self.page.cursor_position)

    @on(SuggestionArea.Decided)
    async def _decided(self, message: SuggestionArea.Decided) -> None:
        async with self._telling() as client:
            await self._sync_text()  # the text that was typed after the key
            shown = None if client is None else client.shown
            if client is None or shown is None or shown.uri != self.file.uri:
                return  # it has just gone
            self._follows = True
            self._show_status("")
            if message.takes:
                # Together with the client: keys may be pressed while the agent is being notified.
                self._apply_suggestion(shown)
                await client.accept(shown)
            else:
                self._hide()
                self.panel.show_message(refusal_text(shown))
                await client.reject(shown)

    def _apply_suggestion(self, suggestion: Suggestion) -> None:
        """Apply the edits of a suggestion, or move the cursor."""
        cursor_position: Spot | None = None
        if isinstance(suggestion, EditSuggestion):
            for edit in reversed(suggestion.edits):
                start, end = edit.span
                self.page.replace(edit.text, start, end)
            cursor_position = suggestion.cursor_after
        elif isinstance(suggestion, JumpSuggestion):
            cursor_position = suggestion.spot
        if cursor_position is not None:
            self.page.move_cursor(cursor_position, center=True)

    @on(SuggestionArea.Requested)
    def action_ask(self) -> None:
        """Request a suggestion, even an uncertain one; the user may continue to type."""
        self.run_worker(self._ask(), exclusive=True, group="ask")

    async def _ask(self) -> None:
        self._follows = True
        async with self._telling() as client:
            if client is None or await client.ask() is None:
                self._say(self._trouble or "No suggestion here.")
            self._paint_suggestion()  # which may have been out of sight

    async def action_save(self) -> None:
        """Write the file."""
        try:
            self.file.save(self.page.text)
        except OSError as error:
            self._say(f"The file was not saved: {error.strerror or error}")
            return
        self._paint_title()
        self._say(f"{self.file.name} is saved.")
        async with self._telling() as client:
            if client is not None:
                await client.save(self.file.uri)

    def action_copy(self) -> None:
        """Copy the selection; without one, show how to quit."""
        if self.page.selected_text:
            self.page.action_copy()
        else:
            self._say("Press Ctrl-Q to quit.")

    def action_leave(self) -> None:
        """Quit; if there are unsaved changes, warn once."""
        is_lost = self.file.path is not None and self.page.text != self.file.saved
        if is_lost and not self._warned:
            self._warned = True
            self._say("Unsaved changes: press Ctrl-S to save, or Ctrl-Q again to discard them.")
            return
        self.exit(0)

    # What is shown

    def suggested(self, suggestion: Suggestion | None) -> None:
        """Show a suggestion, or that there is none any more."""
        if self.is_running:
            self.call_later(self._paint_suggestion)

    def _say(self, text: str) -> None:
        """Show a message; a suggestion stays in the text, since Tab still accepts it."""
        if self.page.is_asking:
            self._foot.update(Text(sanitize_text(text, is_line=True)))
        else:
            self.panel.show_message(text)

    def _hide(self) -> None:
        """Hide the suggestion."""
        self.page.is_asking = False
        self.page.mark([])
        self._paint_keys()

    def _paint_suggestion(self) -> None:
        shown = None if self.client is None else self.client.shown
        document = self._document
        is_known = document is not None and document.text == self.page.text
        if shown is None or document is None or not is_known or shown.uri != self.file.uri:
            if self.page.is_asking:
                self._hide()
                self.panel.show_message(self._idle)
            return
        self.page.is_asking = True
        self._trouble, self._idle = "", _QUIET  # the hint was taken
        self._paint_keys()
        self.page.mark(marks_in_text(shown, document))
        self.page.reveal(is_far=self._follows)
        self.panel.show(suggestion_heading(shown), diff_rows(shown, document), _KEYS)

    def logged(self, text: str, kind: str) -> None:
        """Show a log message, such as that a model cannot be reached."""
        self._trouble = text
        if self.is_running:
            self._show_status(text)

    def _show_status(self, text: str) -> None:
        self._status.update(Text(sanitize_text(text, is_line=True)))
        self._status.display = bool(text)
        self.call_after_refresh(self.page.scroll_cursor_visible)

    def _paint_keys(self) -> None:
        room = self._width - 2
        self._foot.update(next((each for each in _ALL_KEYS if len(each) <= room), _ALL_KEYS[-1]))

    def _paint_title(self) -> None:
        dirt = " \u25cf" if self.page.text != self.file.saved else ""
        where = "a sample, not saved anywhere" if self.file.path is None else str(self.file.path)
        text = Text(f"{sanitize_text(self.file.name, is_line=True)}{dirt}   ", no_wrap=True)
        self._title.update(text.append(sanitize_text(where, is_line=True), theme_of(self).faint))

    @asynccontextmanager
    async def _telling(self) -> AsyncGenerator[NesClient | None]:
        """Use the client in the block; the loss of the agent does not end the editor."""
        try:
            yield self.client
        except LocalProtocolError:
            pass  # it has just been closed
        except TimeoutError as error:
            self._say(f"{error}.")
        except RequestError as error:
            self._say(f"The agent refused: {error}")
        except AcpError as error:
            self.client = None
            self._hide()
            self._trouble = self._idle = f"No more suggestions: {error}"
            self.panel.show_message(self._trouble)


@asynccontextmanager
async def connect_engine(
    app: EditorApp, engine: Engine, *, timing: Timing = _FAST
) -> AsyncGenerator[None]:
    """Connect an engine to the app over the protocol while the block runs."""
    agent = Agent("parley-nes")
    Suggestions(agent, engine)
    options = NesOptions(kinds=("jump",), folders=(), on_show=app.suggested, timing=timing)
    folder = Path.cwd() if app.file.path is None else app.file.path.parent
    with LogForwarder(app.logged):
        async with NesClient.connect(agent, folder, **options) as client:
            app.client = client
            yield


async def edit(app: EditorApp, engine: Engine) -> int:
    """Run the app with an engine until the user quits; return the exit code."""
    async with connect_engine(app, engine):
        with ExitSignals(lambda: app.exit(0)):
            await app.run_async()
    return app.return_code or 0
