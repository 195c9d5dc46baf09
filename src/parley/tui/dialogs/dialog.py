"""A dialog below the conversation, and the guard against keys that were not meant for it.

A user who is typing the next prompt must not allow a command by accident. So a key counts only if
it was pressed after the dialog was on the screen and after a moment without keys; each key that is
too early restarts that moment. Nothing waits for it: the times of the keys are compared. Keys that
do not count are passed to the parent widgets.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from textual import events
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

__all__ = ["Dialog", "InputGuard"]

T = TypeVar("T")

_MAX_HEIGHT_SHARE = 0.65
"""The maximum share of the height of the screen that a dialog takes."""
_MIN_ROWS = 3


class InputGuard:
    """Decides whether a key was pressed late enough after something has appeared."""

    quiet_seconds = 0.3
    """Seconds without a key before the next one counts."""

    def __init__(self) -> None:
        self._since: float | None = None

    def begin(self) -> None:
        """Start: it is on the screen now."""
        self._since = Message().time

    @property
    def has_begun(self) -> bool:
        """Return whether it is on the screen."""
        return self._since is not None

    def is_over(self, at: float) -> bool:
        """Return whether a key that was pressed at this time counts."""
        if self._since is None:
            return False
        if at - self._since >= self.quiet_seconds:
            return True
        self._since = max(self._since, at)
        return False


class Dialog(Vertical, Generic[T], can_focus=True):
    """A question with one answer.

    Mount it, wait for `answer`, and remove it in any case. It takes the focus when it is mounted.
    If it is removed early, the answer is the one that means none.
    """

    DEFAULT_CSS = """
    Dialog {
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
        self.input_guard = InputGuard()
        """Decides which keys count."""

    @property
    def is_answered(self) -> bool:
        """Return whether there is an answer."""
        return self._replied.is_set()

    async def answer(self) -> T:
        """Wait for the answer."""
        await self._replied.wait()
        return self._reply

    def reply(self, answer: T) -> None:
        """Set the answer; only the first one counts."""
        if not self._replied.is_set():
            self._reply = answer
            self._replied.set()

    def counts(self, at: float) -> bool:
        """Return whether a key that was pressed at this time is meant for this dialog."""
        return not self.is_answered and self.input_guard.is_over(at)

    def on_key(self, event: events.Key) -> None:
        """Handle a key that counts and has a meaning here."""
        if self.counts(event.time) and self.press(event.key, (event.character or "").lower()):
            event.stop()
            event.prevent_default()

    def press(self, key: str, letter: str) -> bool:
        """Handle a key; return whether it has a meaning. Each kind of dialog implements it."""
        raise NotImplementedError

    def leave_rest_to(self, flexible: Widget, *others: Widget) -> None:
        """Limit the height of one part so that the others stay visible."""
        taken = 1 + sum(each.outer_size.height + each.styles.margin.height for each in others)
        max_rows = max(int(self.screen.size.height * _MAX_HEIGHT_SHARE) - taken, _MIN_ROWS)
        height = flexible.styles.max_height
        if height is None or height.cells != max_rows:
            flexible.styles.max_height = max_rows

    def on_mount(self) -> None:
        """Take the focus."""
        self.focus()

    def on_show(self) -> None:
        """Start the guard when it has been painted, also when its tab comes to the front."""
        self.call_after_refresh(self.input_guard.begin)

    def on_unmount(self) -> None:
        """Answer for callers that are still waiting."""
        self.reply(self._no_answer)
