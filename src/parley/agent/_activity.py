"""`Activity`: the base of tool calls, terminals and subagents, which can be cancelled on their own.

An activity is an async context manager. It reports the beginning and the end of its block, and the
client may cancel it without cancelling the turn. Then `CancelledError` is raised in the block, its
end is reported as cancelled, and the program continues after the block. If the turn is cancelled at
the same time, the error propagates.

An activity that is used before its block raises. One that is never entered warns when it is
deleted, like a coroutine that is never awaited.
"""

from __future__ import annotations

import asyncio
import warnings
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from parley.errors import ConnectionClosed, LocalProtocolError, RequestCancelled
from parley.schema import v2

from ._session_state import AgentSessionState, OpenActivity

A = TypeVar("A", bound="Activity")

Outcome: TypeAlias = Literal["completed", "failed", "cancelled"]
"""The way in which a block ended."""


def warn_not_entered(noun: str, source: object) -> None:
    """Warn that the block of an object was never entered; called by `__del__`."""
    warnings.warn(
        f"a {noun} was created but never shown: enter it with `async with`",
        RuntimeWarning,
        source=source,
        stacklevel=2,
    )


class Activity:
    """A tool call, a terminal or a subagent: a block of work that is shown to the client."""

    _noun: ClassVar[str]
    """The name of the activity in errors and warnings."""

    def __init__(self, session: AgentSessionState, id: str, *, is_cancellable: bool) -> None:
        self._session = session
        self.id = id
        """The id of the activity, unique in the session."""
        self.is_cancellable = is_cancellable
        """Whether the client may cancel it without the turn."""
        self.is_cancelled = False
        """Whether it was cancelled without the turn."""
        self._task: asyncio.Task[Any] | None = None
        self._is_entered = False
        self._is_over = False
        self._is_abandoned = False

    def cancel(self) -> None:
        """Cancel the block without the rest of the turn, as if the client had asked for it."""
        if self._task is not None and not self.is_cancelled:
            self.is_cancelled = True
            self._task.cancel()

    async def _begin(self) -> None:
        """Report the beginning of the block."""
        raise NotImplementedError

    async def _end(self, outcome: Outcome) -> None:
        """Report the end of the block."""
        raise NotImplementedError

    def _open(self, task: asyncio.Task[Any] | None) -> OpenActivity:
        """Return the entry of the activity in the list of its session."""
        raise NotImplementedError

    async def _abandon(self) -> None:
        """Report the end of a block whose task did not end when it was cancelled."""
        self._session.activities.pop(self.id, None)
        if not self._is_over:
            await self._end("cancelled")
        self._is_over = self._is_abandoned = True

    async def _report(self, update: v2.SessionUpdate) -> None:
        """Send an update about the activity.

        Raises:
            LocalProtocolError: The block has not been entered, so the client does not know it.
            RequestCancelled: The turn was cancelled, and has ended without the block.
        """
        if not self._is_entered:
            raise LocalProtocolError(
                f"this {self._noun} has not begun: use its methods inside `async with`"
            )
        if self._is_abandoned:
            raise RequestCancelled("The turn was cancelled, and has ended without this block")
        await self._session.update(update)

    def __del__(self) -> None:
        # If the constructor raised, there is no attribute.
        if not getattr(self, "_is_entered", True):
            warn_not_entered(self._noun, self)

    async def __aenter__(self: A) -> A:
        self._is_entered = True
        self._task = asyncio.current_task()
        self._session.end_message()
        try:
            await self._begin()
        except asyncio.CancelledError:  # already sent; cancelled while waiting for backpressure
            await asyncio.shield(self._leave("cancelled"))
            raise
        self._session.activities[self.id] = self._open(self._task)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._session.activities.pop(self.id, None)
        self._session.end_message()
        # A cancellation of only this block ends with the block, even if the block ignored it. If
        # the count is not 0 after `uncancel`, the turn was cancelled, too: the error propagates.
        is_only_ours = self.is_cancelled and self._task is not None and self._task.uncancel() == 0
        if error is None:
            await self._leave("completed")
        elif isinstance(error, asyncio.CancelledError):
            await asyncio.shield(self._leave("cancelled"))
            return is_only_ours
        else:
            with suppress(ConnectionClosed):  # the block's error matters more than a failed report
                await self._leave("failed")
        return False

    async def _leave(self, outcome: Outcome) -> None:
        if not self._is_over:
            await self._end(outcome)
            self._is_over = True
            await self._session.report_background_end()
