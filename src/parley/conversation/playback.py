"""A recorded session as a stream of updates, at its own or another speed.

No agent is involved: the frames of a journal or of an exported file are played again, always with
version 2 types. Long pauses are shortened. It can be paused, played step by step, and
skipped to the end of a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from parley.client._resolve import find_session
from parley.export import from_jsonl
from parley.journal import Journal
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.session.frame_replay import RecordedFrame, TimedUpdate, updates_from_frames

__all__ = ["MAX_PAUSE", "Playback", "load_recording"]

MAX_PAUSE = 2.0
"""How many seconds of a pause are played, at any speed."""


class Playback:
    """Plays a record once: `async for update in playback`."""

    def __init__(self, frames: Iterable[RecordedFrame], speed: float | None = 1.0) -> None:
        """Read a record, as far as it is played.

        Args:
            frames: What passed between a client and an agent; `load_recording` finds it.
            speed: 1 as it was, 2 twice as fast; None: without waiting.

        Raises:
            ValueError: The speed is not a positive number.
        """
        self.transcript = Transcript()
        """The conversation so far."""
        self.played = 0
        """How many updates were played."""
        self._updates: Iterator[TimedUpdate] = iter(updates_from_frames(frames))
        self._before: float | None = None
        self._steps = 0
        self._is_paused = self._is_skipping = False
        self._news = asyncio.Event()
        self.speed = speed

    @property
    def speed(self) -> float | None:
        """The speed; it may be changed while it plays."""
        return self._speed

    @speed.setter
    def speed(self, speed: float | None) -> None:
        if speed is not None and not speed > 0:
            raise ValueError("the speed of a replay must be a positive number")
        self._speed = speed
        self._news.set()

    @property
    def is_paused(self) -> bool:
        """Return whether it waits to be resumed."""
        return self._is_paused

    def pause(self) -> None:
        """Play nothing more for now."""
        self._is_paused = True
        self._steps, self._is_skipping = 0, False
        self._news.set()

    def resume(self) -> None:
        """Resume."""
        self._is_paused = False
        self._news.set()

    def step(self) -> None:
        """Play one update at once, and pause."""
        self._is_paused = True
        self._steps += 1
        self._news.set()

    def skip(self) -> None:
        """Play the rest of the turn at once; what is paused is paused again then."""
        self._is_skipping = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[v2.SessionUpdate]:
        for timed in self._updates:
            await self._until(timed)
            self.transcript.fold(timed.update)
            self.played += 1
            yield timed.update
            if isinstance(timed.update, v2.StateUpdated) and timed.update.state == "idle":
                self._is_skipping = False

    async def _until(self, timed: TimedUpdate) -> None:
        """Wait until an update is due."""
        gap = 0.0 if self._before is None else max(0.0, timed.at - self._before)
        self._before = timed.at
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not (self._is_skipping or self._steps):
            left = 0.0 if self._speed is None else min(gap / self._speed, MAX_PAUSE)
            left -= loop.time() - began
            if not self._is_paused and left <= 0:
                break
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self._is_paused else left):
                    await self._news.wait()
        self._steps = max(0, self._steps - 1)


def load_recording(
    source: str | Path, journal: Journal | None = None, cwd: str | Path = "."
) -> Iterable[RecordedFrame]:
    """Return the frames of a record.

    Args:
        source: A file of exported JSON lines, or a session of the journal by its name or key.
        journal: Where sessions are; None: only files are found.
        cwd: Where names of sessions count first.

    Raises:
        LookupError: No file and no session has this name, or several sessions have it.
        ValueError: The file is not a recording.
        OSError: The file cannot be read.
    """
    if Path(source).is_file():
        return from_jsonl(Path(source).read_bytes())
    record = None if journal is None else find_session(journal, str(source), cwd, anywhere=True)
    if journal is None or record is None:
        raise LookupError(f"there is neither a file nor a session {str(source)!r}")
    return journal.entries(record.key)
