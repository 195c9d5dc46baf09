"""Commands for terminals, and helpers to watch them while they run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from parley.client import Session

PYTHON = (sys.executable, "-S", "-u", "-c")
FOREVER = "import os, signal; os.write(1, b'ready\\n'); signal.pause()"
STUBBORN = f"import signal; signal.signal(15, signal.SIG_IGN); {FOREVER}"


class OutputLog:
    """Collects what `on_output` gets, so that a test can wait for it."""

    def __init__(self) -> None:
        self.pieces: list[tuple[str, str, bytes]] = []
        self._news = asyncio.Event()

    def __call__(self, session: Session, terminal: str, data: bytes) -> None:
        self.pieces.append((session.id, terminal, data))
        self._news.set()

    @property
    def data(self) -> bytes:
        return b"".join(data for _, _, data in self.pieces)

    async def until(self, wanted: bytes, times: int = 1) -> bytes:
        while self.data.count(wanted) < times:
            self._news.clear()
            await self._news.wait()
        return self.data


def is_alive(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def is_anywhere(name: str, directory: Path) -> bool:
    return any(directory.rglob(name))


async def until(is_so: Callable[[], bool]) -> None:
    """Poll until a condition is true, for events that nothing announces."""
    while not is_so():  # noqa: ASYNC110 - processes announce nothing to us
        await asyncio.sleep(0.001)
