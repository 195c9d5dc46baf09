"""What a tool call, a terminal and a subagent have in common: a block that can be cancelled alone.

Each is used as `async with`, is reported when the block begins and when it ends, and may be
cancelled by the client without the turn around it. The block is then left by `CancelledError`, its
end is reported as cancelled, and the program goes on behind the block. When the turn is cancelled
at the same time, the error goes on its way.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from parley.errors import ConnectionClosed, RequestCancelled
from parley.schema import v2

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Outcome", "Part"]

P = TypeVar("P", bound="Part")

Outcome: TypeAlias = Literal["completed", "failed", "cancelled"]
"""How a block ended."""


class Part:
    """A block of a program's work that the client sees."""

    def __init__(self, owner: Session, id: str, *, is_cancellable: bool) -> None:
        self.owner = owner
        """The session that it belongs to."""
        self.id = id
        """Names it within the session."""
        self.is_cancellable = is_cancellable
        """Whether the client may cancel it alone."""
        self.cancelled = False
        """Whether the client has cancelled it alone."""
        self.is_over = False
        """Whether its end was reported."""
        self.is_given_up = False
        """Whether its turn ended without it: it may not say anything more."""
        self.task: asyncio.Task[Any] | None = None
        """The task that runs the block."""

    async def begin(self) -> None:
        """Report that the block begins."""
        raise NotImplementedError

    async def end(self, outcome: Outcome) -> None:
        """Report that the block has ended."""
        raise NotImplementedError

    def as_background(self) -> v2.BackgroundWork:
        """Return how it is called when it runs on behind the end of a turn."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Cancel the block, and nothing else of the turn."""
        if self.task is not None and not self.cancelled:
            self.cancelled = True
            self.task.cancel()

    async def give_up(self) -> None:
        """Report the end of a block whose task does not end when it is cancelled."""
        self.owner.parts.pop(self.id, None)
        if not self.is_over:
            await self.end("cancelled")
        self.is_over = self.is_given_up = True

    async def tell(self, update: v2.SessionUpdate) -> None:
        """Send an update about it."""
        if self.is_given_up:
            raise RequestCancelled("The turn was cancelled and has ended without this")
        await self.owner.update(update)

    async def __aenter__(self: P) -> P:
        self.task = asyncio.current_task()
        self.owner.end_message()
        try:
            await self.begin()
        except asyncio.CancelledError:  # it was sent, and then there was no room for more
            await asyncio.shield(self._leave("cancelled"))
            raise
        self.owner.parts[self.id] = self
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self.owner.parts.pop(self.id, None)
        self.owner.end_message()
        # What cancelled only this block is over with it, also if the block did not heed it.
        is_only_ours = self.cancelled and self.task is not None and self.task.uncancel() == 0
        if error is None:
            await self._leave("completed")
        elif isinstance(error, asyncio.CancelledError):
            await asyncio.shield(self._leave("cancelled"))
            return is_only_ours
        else:
            with suppress(ConnectionClosed):  # the error counts, not that nobody can be told
                await self._leave("failed")
        return False

    async def _leave(self, outcome: Outcome) -> None:
        if not self.is_over:
            await self.end(outcome)
            self.is_over = True
            await self.owner.part_ended()
