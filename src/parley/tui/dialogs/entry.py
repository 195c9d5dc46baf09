"""A line to type text into."""

from __future__ import annotations

from textual.widgets import Input

__all__ = ["Entry"]


class Entry(Input):
    """An input of one row whose cursor does not blink: that would go over the line all the time."""

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
            beforehand: What is in it; inert.
            placeholder: What is shown while it is empty.
            is_secret: Whether what is typed is hidden.
            max_length: How much can be typed; 0: any.
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
        """Put in what is in it beforehand, which needs an app."""
        self.cursor_blink = False
        self.value = self._beforehand
