"""A question to the user below the conversation, and what does not count as an answer to it.

Somebody who writes the next prompt must not allow a command by it. So a key counts only if it was
pressed after the question was on the screen and not while the user went on typing: each key that
comes too early begins the moment of calm anew. Nothing waits for that; the times of the keys are
compared. Keys that do not count are not taken: they go on to the widgets around.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from textual import events
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

__all__ = ["Asked", "Moment"]

T = TypeVar("T")

_SHARE = 0.65
"""So much of the height of the screen a question takes at most."""
_LEAST_ROWS = 3


class Moment:
    """The time after something has appeared in which no key is an answer."""

    calm_seconds = 0.3
    """How long nothing must have been pressed."""

    def __init__(self) -> None:
        self._since: float | None = None

    def begin(self) -> None:
        """Note that it is on the screen now."""
        self._since = Message().time

    @property
    def has_begun(self) -> bool:
        """Whether it is on the screen."""
        return self._since is not None

    def is_over(self, at: float) -> bool:
        """Return whether what was pressed at this time counts."""
        if self._since is None:
            return False
        if at - self._since >= self.calm_seconds:
            return True
        self._since = max(self._since, at)
        return False


class Asked(Vertical, Generic[T], can_focus=True):
    """A question that has one answer.

    Mount it, wait for `answer`, and remove it whatever happened. It takes the focus when it is
    mounted. Removed before, it has the answer that means none.
    """

    DEFAULT_CSS = """
    Asked {
        height: auto;
        max-height: 100%;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        border-top: solid $warning;
    }
    """

    def __init__(self, no_answer: T) -> None:
        super().__init__()
        self._no_answer = no_answer
        self._reply: T = no_answer
        self._replied = asyncio.Event()
        self.moment = Moment()
        """The time in which no key answers it."""

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer."""
        return self._replied.is_set()

    async def answer(self) -> T:
        """Wait for the answer."""
        await self._replied.wait()
        return self._reply

    def reply(self, answer: T) -> None:
        """Answer; only the first answer counts."""
        if not self._replied.is_set():
            self._reply = answer
            self._replied.set()

    def counts(self, at: float) -> bool:
        """Return whether what was pressed at this time is meant for this question."""
        return not self.is_answered and self.moment.is_over(at)

    def on_key(self, event: events.Key) -> None:
        """Take a key that counts and means something here."""
        if self.counts(event.time) and self.press(event.key, (event.character or "").lower()):
            event.stop()
            event.prevent_default()

    def press(self, key: str, letter: str) -> bool:
        """Do what a key means; tell whether it means something. For each kind of question."""
        raise NotImplementedError

    def leave_rest_to(self, flexible: Widget, *others: Widget) -> None:
        """Let one part take what the others leave of the height, so that all can be seen."""
        taken = 1 + sum(each.outer_size.height + each.styles.margin.height for each in others)
        most = max(int(self.screen.size.height * _SHARE) - taken, _LEAST_ROWS)
        height = flexible.styles.max_height
        if height is None or height.cells != most:
            flexible.styles.max_height = most

    def on_mount(self) -> None:
        """Take the focus."""
        self.focus()

    def on_show(self) -> None:
        """Begin the moment when it has been painted, also where its tab comes to the front."""
        self.call_after_refresh(self.moment.begin)

    def on_unmount(self) -> None:
        """Free who still waits."""
        self.reply(self._no_answer)
