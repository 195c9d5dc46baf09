"""`Compaction`: a compaction of the context that reports its own end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType

from msgspec import UNSET

from parley.errors import ConnectionClosed
from parley.schema import v2

from ._activity import warn_not_entered
from ._session_state import AgentSessionState


class Compaction:
    """A compaction of the context: `async with session.compaction() as compaction`.

    It is reported as in progress when the block begins, and at its end as completed, as failed if
    the block raises, or as cancelled. `add` streams the summary.
    """

    def __init__(self, session: AgentSessionState, id: str) -> None:
        self._session = session
        self._id = id
        self._is_entered = False

    def __del__(self) -> None:
        if not self._is_entered:
            warn_not_entered("compaction", self)

    async def __aenter__(self) -> Compaction:
        self._is_entered = True
        try:
            await self._report("in_progress")
        except asyncio.CancelledError:  # already sent; cancelled while waiting for backpressure
            await asyncio.shield(self._report("cancelled"))
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._report("completed")
        elif isinstance(error, asyncio.CancelledError):
            await asyncio.shield(self._report("cancelled"))
        else:
            with suppress(ConnectionClosed):
                await self._report("failed", error="The context could not be compacted")

    async def add(self, content: str | v2.ContentBlock) -> None:
        """Append to the summary of the compacted conversation, which is shown to the user."""
        block = v2.TextContent(text=content) if isinstance(content, str) else content
        await self._session.update(v2.CompactionSummaryChunk(compaction_id=self._id, content=block))

    async def _report(self, status: v2.CompactionStatus, error: str | None = None) -> None:
        await self._session.update(
            v2.CompactionUpdate(compaction_id=self._id, status=status, error=error or UNSET)
        )
