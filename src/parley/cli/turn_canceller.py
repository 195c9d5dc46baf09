"""Cancelling the turn of `parley run`: by Ctrl-C, and at a limit of time or cost."""

from __future__ import annotations

import asyncio

from parley.client import PromptTurn

__all__ = ["TurnCanceller"]


class TurnCanceller:
    """Cancels the running turn, if there is one."""

    def __init__(self) -> None:
        self._turn: PromptTurn | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def has_turn(self) -> bool:
        """Whether a turn is running."""
        return self._turn is not None

    def begin(self, turn: PromptTurn) -> None:
        """Cancel this turn from now on."""
        self._turn = turn

    def end(self) -> None:
        """Cancel nothing any more: the turn has ended."""
        self._turn = None

    def cancel(self) -> None:
        """Begin to cancel the turn."""
        if self._turn is not None:
            task = asyncio.ensure_future(self._turn.cancel())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
