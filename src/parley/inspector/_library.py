"""The recordings that the page shows: their list, and those that are open.

Opening one reads the whole file once; that happens in another thread, in parts, so that the page
stays responsive. At most `MAX_OPEN` recordings stay open while nobody looks at them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from parley.errors import RecordingError
from parley.recording import RecordedEvent, Recording, RecordingStore

from ._sources import InspectedRecording
from ._summary import describe_exit

T = TypeVar("T")

MAX_OPEN = 8
"""The number of recordings that are kept open, besides those that are looked at."""
_KEY = re.compile(r"[A-Za-z0-9._-]+")
"""A key is the name of a file in the directory, and nothing that leads out of it."""
_TAIL_BYTES = 16 * 1024
_EXITED = re.compile(rb'^\{"at":[^{}\n]*"event":"exited"[^{}\n]*\}$', re.MULTILINE)


class RecordingInfo(Struct, frozen=True):
    """A recording as the list of the page has it; see `_app.py`."""

    key: str
    name: str
    command: list[str]
    cwd: str
    started_at: float
    ended_at: float | None
    exit: str | None
    frames: int | None
    bytes: int
    is_live: bool
    hop: str
    chain: str


class OpenRecording:
    """A recording that is read in another thread; one part after the other."""

    def __init__(self, recording: InspectedRecording) -> None:
        self.recording = recording
        self.users = 0
        """The number of requests that use it."""
        self._lock = asyncio.Lock()

    async def read_part(self) -> bool:
        """Read the next part of what has been written; return whether there was one."""
        async with self._lock:
            return await asyncio.to_thread(self.recording.read_part)

    async def read_all(self) -> InspectedRecording:
        """Read everything that has been written so far."""
        while await self.read_part():
            pass
        return self.recording

    async def run(self, work: Callable[[InspectedRecording], T]) -> T:
        """Read everything, and do work that takes a while, while nothing else is read."""
        await self.read_all()
        async with self._lock:
            return await asyncio.to_thread(work, self.recording)


class Library:
    """The recordings of this user, and those in files that the user named."""

    def __init__(self, store: RecordingStore, files: Sequence[Recording] = ()) -> None:
        """Prepare to list recordings.

        Args:
            store: The recordings of this user.
            files: Recordings in other places.
        """
        self._store = store
        self._files = {each.key: each for each in files if each.path != store.path(each.key)}
        self._open: dict[str, OpenRecording] = {}
        self._exits: dict[tuple[str, int], str | None] = {}
        """How the agent of a recording ended, by the key and the size."""

    async def infos(self) -> list[RecordingInfo]:
        """Return the recordings, newest first; those in files come before all others."""
        return await asyncio.to_thread(self._infos)

    def _infos(self) -> list[RecordingInfo]:
        stored = [each for each in self._store.recordings() if each.key not in self._files]
        recordings = [*self._files.values(), *stored]
        infos = [self._info(each) for each in recordings]
        present = {(each.key, each.size_bytes) for each in recordings}
        for gone in self._exits.keys() - present:
            del self._exits[gone]
        return infos

    def _info(self, recording: Recording) -> RecordingInfo:
        header, place = recording.header, (recording.key, recording.size_bytes)
        opened = self._open.get(recording.key)
        if not recording.is_active and place not in self._exits:
            self._exits[place] = _exit_of(recording.path)
        return RecordingInfo(
            key=recording.key,
            name=header.name,
            command=header.command,
            cwd=header.cwd,
            started_at=header.started_at,
            ended_at=None if recording.is_active else recording.updated_at,
            exit=self._exits.get(place),
            frames=None if opened is None else len(opened.recording.table.rows),
            bytes=recording.size_bytes,
            is_live=recording.is_active,
            hop=header.hop,
            chain=header.chain,
        )

    @asynccontextmanager
    async def open(self, key: str) -> AsyncGenerator[OpenRecording]:
        """Open a recording, or use one that is open; it stays open while the block runs.

        Raises:
            RecordingError: There is none with this key, or it cannot be read.
        """
        if key not in self._open:
            path = self._path(key)
            found = await asyncio.to_thread(InspectedRecording, path)
            if key in self._open:  # another request was faster
                found.close()
            else:
                self._open[key] = OpenRecording(found)
        opened = self._open[key] = self._open.pop(key)  # the last is the one that was used last
        opened.users += 1
        try:
            yield opened
        finally:
            opened.users -= 1
            self._close_unused(MAX_OPEN)

    def _path(self, key: str) -> Path:
        if key in self._files:
            return self._files[key].path
        path = self._store.path(key)
        if not _KEY.fullmatch(key) or not path.is_file():
            raise RecordingError("there is no such recording")
        return path

    def _close_unused(self, limit: int) -> None:
        unused = [key for key, each in self._open.items() if not each.users]
        for key in unused[: max(0, len(self._open) - limit)]:
            self._open.pop(key).recording.close()

    def close(self) -> None:
        """Close what nobody looks at any more."""
        self._close_unused(0)


def _exit_of(path: Path) -> str | None:
    """Return how the agent ended, from the end of the file; None if that does not say it."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            found = _EXITED.findall(file.read(_TAIL_BYTES))
        return describe_exit(msgspec.json.decode(found[-1], type=RecordedEvent)) if found else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
