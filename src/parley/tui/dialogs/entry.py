"""An input of one line."""

from __future__ import annotations

from textual.widgets import Input

__all__ = ["Entry"]


class Entry(Input):
    """An input of one row; its cursor does not blink, which would be repainted all the time."""

    def __init__(
        self,
        beforehand: str = "",
        *,
        placeholder: str = "…",
        is_secret: bool = False,
        max_length: int = 0,
    ) -> None:
        """Make an input.

        Args:
            beforehand: The initial text; inert.
            placeholder: The text that is shown while it is empty.
            is_secret: Whether the text is hidden.
            max_length: The maximum length; 0 for no limit.
        """
        super().__init__(
            placeholder=placeholder,
            password=is_secret,
            max_length=max_length,
            select_on_focus=False,
            compact=True,
        )
        self._beforehand = beforehand

    def on_mount(self) -> None:
        """Set the initial text, which requires an app."""
        self.cursor_blink = False
        self.value = self._beforehand
