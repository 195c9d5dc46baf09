"""The text area of the composer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.content import Content
from textual.keys import Keys
from textual.widgets import TextArea

__all__ = ["PromptArea"]

# Most terminals send this for Alt-Enter. Textual would leave out Alt, and Enter sends what is not
# finished yet; there is no public way to change that.
cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)

_HINT = "Ask something · / commands · @ files · F1 help"


class PromptArea(TextArea):
    """A text area that offers each key to its composer first."""

    def __init__(
        self, handle_key: Callable[[str], bool], rewrite_paste: Callable[[str], str]
    ) -> None:
        super().__init__(
            compact=True, highlight_cursor_line=False, placeholder=Content(_HINT), id="prompt"
        )
        self.cursor_blink = (
            False  # blinking would repaint it, and screen readers would read it, all the time
        )
        self._handle_key = handle_key
        self._rewrite_paste = rewrite_paste

    def on_resize(self) -> None:
        """Place the terminal cursor at the text cursor, where screen readers expect it."""
        if self.has_focus:
            self.call_after_refresh(self._place_cursor)

    def _place_cursor(self) -> None:
        # Textual leaves the return type of an app open.
        self.app.cursor_position = self.cursor_screen_offset  # pyright: ignore[reportUnknownMemberType]

    async def on_key(self, event: events.Key) -> None:
        """Offer the key to the composer, or handle it here."""
        # Textual runs a binding after the key has bubbled up to the app; text that is typed
        # meanwhile must not overtake it.
        bound = self._bindings.key_to_bindings.get(event.key, [])
        is_taken = self._handle_key(event.key)
        if is_taken or bound:
            event.stop()
            event.prevent_default()
        if bound and not is_taken:
            await self.run_action(bound[0].action)

    def on_paste(self, event: events.Paste) -> None:
        """Insert the text that a paste stands for."""
        if (text := self._rewrite_paste(event.text)) != event.text:
            event.stop()
            event.prevent_default()
            self.insert(text)
