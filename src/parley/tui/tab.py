"""A tab: a history and the widgets below it. Conversations and replays are shown in tabs."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.worker import WorkType

from parley.session._transcript import Transcript

from .find_bar import FindBar
from .render.blocks import Kind, Note
from .render.history import History
from .render.theme import Theme, theme_of
from .render.transcript_renderer import TranscriptRenderer
from .status import Status

__all__ = ["Tab"]

_PERIOD = 0.1
"""The seconds between two checks for changes."""


class Tab(Vertical):
    """A tab of the screen."""

    DEFAULT_CSS = """
    Tab {
        height: 1fr;
    }
    Tab History {
        height: 1fr;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back", show=False)]

    class Changed(Message):
        """The label or the mark of the tab has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.find_bar = FindBar(self.history)
        self.status = Status()
        self.shown = TranscriptRenderer(self.history, Transcript())
        """Renders updates in the history."""
        self._last_label = ("", "")

    @property
    def label(self) -> str:
        """Return the label of the tab; an agent may have named it."""
        raise NotImplementedError

    @property
    def mark(self) -> str:
        """Return the state as one character; empty if there is nothing to show."""
        return ""

    @property
    def is_waiting(self) -> bool:
        """Return whether it waits for the user."""
        return False

    @property
    def whole(self) -> App[Any]:
        """Return the app, whose type Textual leaves open."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @property
    def theme(self) -> Theme:
        """Return the styles of the app."""
        return theme_of(self)

    def compose(self) -> ComposeResult:
        """Lay out the history, the widgets below it, and the status."""
        yield self.history
        yield from self.compose_below()
        yield self.find_bar
        yield self.status

    def compose_below(self) -> ComposeResult:
        """Lay out the widgets below the history."""
        yield from ()

    def on_mount(self) -> None:
        """Begin to paint."""
        self._paint()
        self.set_interval(_PERIOD, self.tick)

    def begin(self, transcript: Transcript) -> None:
        """Show another conversation."""
        self.history.clear()
        self.shown = TranscriptRenderer(self.history, transcript)
        self._paint()

    def _paint(self) -> None:
        if self.is_attached:
            self.work(self.shown.run, "paint")

    def work(self, does: WorkType[None], group: str) -> None:
        """Run a worker until the tab is removed; it replaces the one of its group."""
        self.run_worker(does, group=group, exclusive=True)

    def tick(self) -> None:
        """Check for changes; called ten times a second."""
        label = (self.label, self.mark)
        if label != self._last_label:
            self._last_label = label
            self.post_message(self.Changed())

    def note(self, text: str, kind: Kind = "info", *, more: str = "") -> None:
        """Show a note of this program."""
        self.shown.add(Note(text, kind, more=more))

    def find(self, words: str = "") -> None:
        """Search the history."""
        self.find_bar.open(words)

    def on_find_bar_closed(self, event: FindBar.Closed) -> None:
        """Return the focus when the find bar is closed."""
        event.stop()
        self.take_focus()

    def take_focus(self) -> None:
        """Put the focus on the widget that most keys are for."""
        self.history.focus()

    async def action_back(self) -> None:
        """Follow the end of the history again; bound to Esc."""
        self.history.follow()
        self.take_focus()

    async def shut(self) -> None:
        """Stop the conversation or the replay of the tab."""

    def kill(self) -> None:
        """Stop it at once."""
