"""A small app with a history and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import App, ComposeResult
from textual.filter import LineFilter

from parley.schema import v2
from parley.session._transcript import Transcript
from parley.tui.render.history import History
from parley.tui.render.theme import THEMES, ControlFilter
from parley.tui.render.transcript_renderer import TranscriptRenderer


class HistoryApp(App[None]):
    """A history and nothing else."""

    def __init__(self, theme: str = "parley-dark", *, text: str = "") -> None:
        super().__init__()
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme
        self.history = History()
        self.transcript = Transcript()
        self.show = TranscriptRenderer(self.history, self.transcript)
        self._text = text

    def compose(self) -> ComposeResult:
        yield self.history

    async def on_mount(self) -> None:
        self.history.focus()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), ControlFilter()]

    async def play(self, *updates: v2.SessionUpdate) -> None:
        """Fold updates and show them, at once."""
        for update in updates:
            self.transcript.fold(update)
            self.show.update(update)
        await self.show.paint()

    async def say(self, text: str, id: str = "a") -> None:
        """Let the agent say something."""
        await self.play(chunk(text, id))

    def screen_lines(self) -> list[str]:
        """What is in view, line by line."""
        height = self.history.size.height
        return [self.history.render_line(y).text.rstrip() for y in range(height)]


def chunk(text: str, id: str = "a") -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id=id, content=v2.TextContent(text=text))
