"""The input of the composer: where the text itself is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.content import Content
from textual.keys import Keys
from textual.widgets import TextArea

__all__ = ["Area"]

# Most terminals send this for Alt-Enter. Textual would leave out Alt, and Enter sends what is not
# finished yet; nothing public tells it otherwise.
cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)

_HINT = "Ask something · / commands · @ files · F1 help"


class Area(TextArea):
    """The input; it asks its composer before it obeys a key."""

    def __init__(self, takes: Callable[[str], bool], pasted: Callable[[str], str]) -> None:
        super().__init__(
            compact=True, highlight_cursor_line=False, placeholder=Content(_HINT), id="prompt"
        )
        self.cursor_blink = False  # it would be painted, and read aloud, for ever
        self._takes = takes
        self._pasted = pasted

    def on_resize(self) -> None:
        """Put the cursor of the terminal where one writes: screen readers look there."""
        if self.has_focus:
            self.call_after_refresh(self._place_cursor)

    def _place_cursor(self) -> None:
        # Textual does not say what an app returns.
        self.app.cursor_position = self.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType]

    async def on_key(self, event: events.Key) -> None:
        """Let the composer have the key, else do what it means here."""
        # Textual obeys a binding when the key has gone up to the app; what is typed meanwhile must
        # not overtake it.
        bound = self._bindings.key_to_bindings.get(event.key, [])
        is_taken = self._takes(event.key)
        if is_taken or bound:
            event.stop()
            event.prevent_default()
        if bound and not is_taken:
            await self.run_action(bound[0].action)

    def on_paste(self, event: events.Paste) -> None:
        """Write what is meant by what was pasted."""
        if (text := self._pasted(event.text)) != event.text:
            event.stop()
            event.prevent_default()
            self.insert(text)
