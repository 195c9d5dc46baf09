"""One tab: a history and what stands below it. A conversation has one, and a replay."""

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
"""How often what has changed is looked at."""


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
        """Its name or its mark are others now."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History()
        self.find_bar = FindBar(self.history)
        self.status = Status()
        self.shown = TranscriptRenderer(self.history, Transcript())
        """Turns updates into what is seen."""
        self._told = ("", "")

    @property
    def label(self) -> str:
        """What to call it; an agent may have named it."""
        raise NotImplementedError

    @property
    def mark(self) -> str:
        """What goes on, as one character; empty if nothing does."""
        return ""

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for the user."""
        return False

    @property
    def whole(self) -> App[Any]:
        """The app; Textual does not say what it returns."""
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @property
    def theme(self) -> Theme:
        """The styles of the app."""
        return theme_of(self)

    def compose(self) -> ComposeResult:
        """Lay out the history, what is below it, and the status."""
        yield self.history
        yield from self.compose_below()
        yield self.find_bar
        yield self.status

    def compose_below(self) -> ComposeResult:
        """Lay out what is below the history."""
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
        """Do something beside, as long as this is there, in place of what the group did."""
        self.run_worker(does, group=group, exclusive=True)

    def tick(self) -> None:
        """Look at what has changed; called ten times a second."""
        told = (self.label, self.mark)
        if told != self._told:
            self._told = told
            self.post_message(self.Changed())

    def note(self, text: str, kind: Kind = "info", *, more: str = "") -> None:
        """Say something ourselves."""
        self.shown.add(Note(text, kind, more=more))

    def find(self, words: str = "") -> None:
        """Search the history."""
        self.find_bar.open(words)

    def on_find_bar_closed(self, event: FindBar.Closed) -> None:
        """Let the user go on."""
        event.stop()
        self.take_focus()

    def take_focus(self) -> None:
        """Put the focus where keys are most likely meant."""
        self.history.focus()

    async def action_back(self) -> None:
        """Do what Esc means here."""
        self.history.follow()
        self.take_focus()

    async def shut(self) -> None:
        """End what runs behind it."""

    def kill(self) -> None:
        """End it without mercy."""
