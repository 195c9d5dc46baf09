"""Where questions stand until they are answered, one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from textual.containers import Vertical

from .asked import Asked

__all__ = ["Dock"]

T = TypeVar("T")


class Dock(Vertical):
    """Shows one question after the other."""

    DEFAULT_CSS = """
    Dock {
        height: auto;
        max-height: 80%;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()
        self.card: Asked[Any] | None = None
        """The question that waits."""

    async def ask(
        self, card: Asked[T], shown: Callable[[], object], home: Callable[[], object]
    ) -> T:
        """Show a question and return the answer; it is gone when nobody waits for that.

        Args:
            card: The question; it takes the focus.
            shown: Called when it is on the screen.
            home: Puts the focus where it was, if the question had it.
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
