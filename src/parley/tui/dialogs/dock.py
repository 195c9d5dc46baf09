"""The dock that shows dialogs, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from textual.containers import Vertical

from .dialog import Dialog

__all__ = ["Dock"]

T = TypeVar("T")


class Dock(Vertical):
    """Shows one dialog after the other."""

    DEFAULT_CSS = """
    Dock {
        height: auto;
        max-height: 80%;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()
        self.card: Dialog[Any] | None = None
        """The dialog that is shown."""

    async def ask(
        self, card: Dialog[T], shown: Callable[[], object], home: Callable[[], object]
    ) -> T:
        """Show a dialog and return the answer; cancelling removes the dialog.

        Args:
            card: The dialog; it takes the focus.
            shown: Called when it is on the screen.
            home: Restores the focus, if the dialog had it.
        """
        async with self._turn:
            await self.mount(card)
            self.card = card
            try:
                shown()
                return await card.answer()
            finally:
                self.card = None
                if card.has_focus_within:
                    home()
                card.remove()
