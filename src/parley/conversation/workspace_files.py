"""The files of a workspace, to choose from.

In a git repository, git lists the files, because it knows which are ignored. Elsewhere directories
are walked, but not hidden ones, not those that programs fill, and not those that are huge. Both are
bounded in time and number: what is missing can still be written by hand. Nothing that the
repository configures is run. A link that leads out of the workspace is not offered, nor is a file
that was deleted.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from .completion import Index

__all__ = ["WorkspaceFiles"]

MAX_FILES = 100_000
"""How many files of a directory are known."""
LIST_AFTER = 5.0
"""How many seconds listing a directory may take."""
FRESH_AFTER = 10.0
"""How many seconds a list is good for."""
_MAX_ENTRIES = 5000
"""A directory with more entries is a heap of data."""
_FILLED = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "target", "vendor"})
_GIT = (
    "git",
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),  # a repository could name a program there
    *("-c", "core.hooksPath=/dev/null"),
    *("ls-files", "--cached", "--others", "--exclude-standard", "-z"),
)


class WorkspaceFiles:
    """The files of some directories, as they were when they were last listed."""

    def __init__(self, directories: Sequence[str | Path]) -> None:
        """List nothing yet.

        Args:
            directories: The workspace; files of the first are named from there on, others whole.
        """
        self._directories = [Path(each).absolute() for each in directories]
        self._real = [os.path.realpath(each) for each in self._directories]
        self._index = Index()
        self._listed_at: float | None = None
        self._listing = asyncio.Lock()
        self._offered: dict[str, bool] = {}

    @property
    def is_fresh(self) -> bool:
        """Return whether they were listed lately."""
        return self._listed_at is not None and time.monotonic() - self._listed_at < FRESH_AFTER

    async def refresh(self) -> None:
        """List them, unless that was done lately; several callers share the work."""
        async with self._listing:
            if self.is_fresh:
                return
            names: list[str] = []
            for directory in self._directories:
                found = await _tracked(directory)
                if not found:  # an ignored directory of a repository has none, either
                    found = await asyncio.to_thread(_walked, directory)
                is_first = directory is self._directories[0]
                names += found if is_first else [f"{directory}/{each}" for each in found]
            self._index = await asyncio.to_thread(Index, names)
            self._offered = {}
            self._listed_at = time.monotonic()

    def find(self, word: str, limit: int = 20) -> list[str]:
        """Return the paths that a word may mean, the best first, from the last list."""
        word = word.removeprefix("./")
        return list(islice(filter(self._is_offered, self._index.hits(word)), limit))

    def _is_offered(self, name: str) -> bool:
        """Return whether a file is there, and in the workspace."""
        if name not in self._offered:
            real = os.path.realpath(self._directories[0] / name)
            is_inside = any(real.startswith(f"{each.rstrip('/')}/") for each in self._real)
            self._offered[name] = is_inside and Path(real).is_file()
        return self._offered[name]


async def _tracked(directory: Path) -> list[str]:
    """Return the files that git knows or would add; none where there is no git."""
    try:
        process = await asyncio.create_subprocess_exec(
            *_GIT,
            cwd=directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return []
    assert process.stdout is not None
    data = bytearray()
    count = 0
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(LIST_AFTER):
                while count < MAX_FILES and (piece := await process.stdout.read(1 << 16)):
                    count += piece.count(b"\0")
                    data += piece
                if count < MAX_FILES and await process.wait() != 0:
                    return []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    names = bytes(data).split(b"\0")[:-1]
    return list(dict.fromkeys(os.fsdecode(each) for each in names[:MAX_FILES]))


def _walked(directory: Path) -> list[str]:
    """Return the files below a directory, near ones first."""
    until = time.monotonic() + LIST_AFTER
    found: list[str] = []
    waiting = [""]
    for place in waiting:  # it grows
        if len(found) >= MAX_FILES or time.monotonic() > until:
            break
        for entry in _entries(directory / place, _MAX_ENTRIES if place else MAX_FILES):
            name = f"{place}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _FILLED:
                    waiting.append(f"{name}/")
            else:
                found.append(name)
    return found


def _entries(directory: Path, most: int) -> list[os.DirEntry[str]]:
    """Return what is in a directory; nothing of one that has too much, or cannot be read."""
    try:
        with os.scandir(directory) as entries:
            found = list(islice(entries, most + 1))
    except OSError:
        return []
    if len(found) > most:
        return []
    return sorted((each for each in found if not each.name.startswith(".")), key=_name)


def _name(entry: os.DirEntry[str]) -> str:
    return entry.name
