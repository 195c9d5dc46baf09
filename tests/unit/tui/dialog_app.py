"""A small app with one widget or one picker, and hostile text to try on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widget import Widget

from parley.tui.render.theme import THEMES, ControlFilter

EVIL = " ".join(
    (
        "[/etc/passwd]",
        "[@click=app.bell]now[/]",
        "[bold red]x",
        "\x1b]52;c;aGk=\x07\x1b[2J\x9b6n",
        "\u202egnp.exe\u2069",
        "日本語 👩‍👩‍👧 ｶﾅ",
    )
)
"""What an agent may write where text is shown."""
FORBIDDEN = "\x1b\x07\x9b\u202e\u2069"
"""What must never come to a terminal from it."""


class DialogApp(App[None]):
    """Shows one thing; what is pressed and not taken is kept."""

    def __init__(
        self, *shown: Widget, picker: ModalScreen[Any] | None = None, theme: str = "parley-dark"
    ) -> None:
        super().__init__()
        for each in THEMES:
            self.register_theme(each)
        self.theme = theme
        self.stray: list[str] = []
        self.picked: list[Any] = []
        self._shown = shown
        self._picker = picker

    def compose(self) -> ComposeResult:
        yield from self._shown

    def on_mount(self) -> None:
        if self._picker is not None:
            self.push_screen(self._picker, self.picked.append)

    def on_key(self, event: events.Key) -> None:
        self.stray.append(event.key)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), ControlFilter()]


def pressed(key: str, *, later: float = 1.0) -> events.Key:
    """A key as if it was pressed so many seconds from now."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.time += later
    return event


async def settled(pilot: Pilot[None]) -> None:
    """Wait until all is on the screen: a change may be laid out first, and then scrolled to."""
    for _ in range(3):
        await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, when all is on the screen and as if the last one was pressed a while ago."""
    await settled(pilot)
    for key in keys:
        pilot.app.post_message(pressed(key))
        await pilot.pause()
    await settled(pilot)


def screen_text(app: App[Any]) -> str:
    """All that is on the screen."""
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(each.text for each in line).rstrip() for line in lines)


async def finished(pilot: Pilot[None]) -> None:
    """Wait until nothing works in the background, also what began when other work was done."""
    workers: Any = pilot.app.workers
    while len(workers):
        await workers.wait_for_complete()
        await pilot.pause()
