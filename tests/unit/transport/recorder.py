"""A receiver that keeps what a transport gives it, and lets a test wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame


class Recorder:
    def __init__(self, on_frames: Callable[[Sequence[Frame]], None] | None = None) -> None:
        self.reads: list[list[bytes]] = []
        self.lost: list[ConnectionClosed] = []
        self._on_frames = on_frames
        self._changed = asyncio.Event()

    @property
    def frames(self) -> list[bytes]:
        return [frame for read in self.reads for frame in read]

    @property
    def reason(self) -> str:
        (reason,) = self.lost
        return str(reason)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        self.reads.append([bytes(frame) for frame in frames])
        self._changed.set()
        if self._on_frames is not None:
            self._on_frames(frames)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.lost.append(reason)
        self._changed.set()

    async def until(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            self._changed.clear()
            await self._changed.wait()

    async def until_frames(self, count: int) -> list[bytes]:
        await self.until(lambda: len(self.frames) >= count)
        return self.frames

    async def until_lost(self) -> str:
        await self.until(lambda: bool(self.lost))
        return self.reason
