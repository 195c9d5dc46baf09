"""The whole app with an agent in this process, and how to wait for what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, cast

from tests.unit.tui.dialog_app import pressed, screen_text
from textual.pilot import Pilot

from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.journal import Journal, Record
from parley.testing.demo import demo_agent
from parley.tui.app import ChatApp
from parley.tui.chat import Chat
from parley.tui.dialogs.picker import ListPicker
from parley.tui.dialogs.url_card import Opener, open_page


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Talk:
    """An app that runs, its first conversation, and keys to press."""

    def __init__(self, app: ChatApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def chat(self) -> Chat:
        assert self.app.chat is not None
        return self.app.chat

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def write(self, text: str) -> None:
        """Type a text."""
        await self.press(*(_KEYS.get(each, each) for each in text))

    async def say(self, text: str) -> None:
        """Type a prompt and send it."""
        await self.write(text)
        await self.press("enter")

    async def answer(self, *keys: str) -> None:
        """Press keys as if the last one was pressed a while ago: then they count as answers."""
        await self.until(self._has_appeared)
        for key in keys:
            self.app.post_message(pressed(key))
            await self.pilot.pause()

    def _has_appeared(self) -> bool:
        """Whether what is asked is on the screen: before that no key counts."""
        screen = self.app.screen
        if isinstance(screen, ListPicker):
            return cast("ListPicker[object]", screen).input_guard.has_begun
        card = None if self.app.chat is None else self.app.chat.dock.card
        return card is None or card.input_guard.has_begun

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so; the test is bounded, and shows the screen if it fails."""
        try:
            while not is_so():
                await self.pilot.pause()
        except asyncio.CancelledError as error:
            state = None if self.app.chat is None else self.app.chat.conversation.state
            error.add_note(f"the conversation is {state}, the screen shows:\n{self.painted}")
            raise

    async def until_state(self, state: str) -> None:
        await self.until(lambda: self.chat.conversation.state == state)

    async def until_shown(self, text: str) -> None:
        await self.until(lambda: text in self.shown)

    async def until_painted(self, text: str) -> None:
        """Wait until a text is on the screen, which comes later than it is in the history."""
        await self.until(lambda: text in self.painted)

    @property
    def shown(self) -> str:
        """The history of the tab in front, as text."""
        return "\n".join(each.plain() for each in self.app.tab.history.blocks)

    @property
    def status(self) -> str:
        return self.app.tab.status.text

    @property
    def painted(self) -> str:
        """The whole screen, as text."""
        return screen_text(self.app)


_KEYS = {
    " ": "space",
    "/": "slash",
    "@": "at",
    "\\": "backslash",
    ":": "colon",
    ".": "full_stop",
    "-": "minus",
}


@asynccontextmanager
async def talking(
    target: Any = demo_agent,
    *,
    journal: Journal | None = None,
    record: Record | None = None,
    size: tuple[int, int] = (80, 24),
    opener: Opener = open_page,
    clock: Callable[[], float] = monotonic,
    **choices: Any,
) -> AsyncGenerator[Talk]:
    """Run the app, with the demo agent unless told otherwise; all behind it is ended."""
    choices = {"cwd": Path(__file__).parent, "grace_after": 1.0, **choices}
    setup = ConversationSetup(
        ConversationOptions(target=target() if target is demo_agent else target, **choices),
        journal=journal,
    )
    if record is not None:
        setup = setup.for_record(record)
    app = ChatApp(Chat(setup, record=record), opener=opener, clock=clock)
    async with app.run_test(size=size) as pilot:
        try:
            yield Talk(app, pilot)
        finally:
            await app.end()
