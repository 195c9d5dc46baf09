"""A compaction of the context that reports its own end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import UNSET

from parley.errors import ConnectionClosed
from parley.schema import v2

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Compaction"]


class Compaction:
    """A compaction, as `async with session.compaction() as compaction`.

    It ends as completed, as failed when the block raises, or as cancelled.
    """

    def __init__(self, session: Session, id: str) -> None:
        self._session = session
        self._id = id

    async def __aenter__(self) -> Compaction:
        try:
            await self._report("in_progress")
        except asyncio.CancelledError:  # it was sent, and then there was no room for more
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
        """Add to the summary of what is left of the conversation; it is for people."""
        block = v2.TextContent(text=content) if isinstance(content, str) else content
        await self._session.update(v2.CompactionSummaryChunk(compaction_id=self._id, content=block))

    async def _report(self, status: v2.CompactionStatus, error: str | None = None) -> None:
        await self._session.update(
            v2.CompactionUpdate(compaction_id=self._id, status=status, error=error or UNSET)
        )
