"""A terminal of 120 x 40 with a program in it: keys, sizes, and what the program takes for them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

COLUMNS, ROWS = 120, 40
QUIET = 0.3
"""Who has painted nothing for so many seconds has done."""
KEY_EVERY = 0.05
FIRST_KEY = 0x4E00
"""Characters that nobody else writes, each pressed once."""


class Cost(NamedTuple):
    """What something took until the screen was still: seconds of the clock, and of the CPU."""

    wall: float
    cpu: float


class Terminal:
    """A program in a pty, read without delay; killed at the end of the block."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.started = time.monotonic()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(cwd)
            os.execve(command[0], list(command), dict(env))
        self._seen = bytearray()
        self._keys = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def press(self, keys: bytes) -> None:
        """Press keys; what was painted before them is forgotten."""
        self._seen.clear()
        os.write(self._terminal, keys)

    def press_and_see(self, keys: bytes) -> None:
        """Press keys and wait until something is painted."""
        self.press(keys)
        while not self._seen and self._read(0.1):
            pass

    def has_seen(self, text: str) -> bool:
        """Whether a text was painted since the last keys."""
        return text.encode() in self._seen

    def highest(self, word: str) -> int:
        """The highest number painted behind a word since the last keys; 0 if none was."""
        return max(map(int, re.findall(word.encode() + rb"(\d+)", self._seen)), default=0)

    def until(self, *texts: str, patience: float) -> bool:
        """Wait until texts were painted since the last keys; returns whether they were."""
        ends = time.monotonic() + patience
        while not all(text.encode() in self._seen for text in texts):
            if time.monotonic() > ends or not self._read(0.1):
                return False
        return True

    def echoes(self, *texts: str, patience: float) -> list[float]:
        """Press keys until texts were painted; return how long each took to be seen.

        One that was not seen when patience ended has taken at least until then.
        """
        echoes: list[float] = []
        ends = time.monotonic() + patience
        missing = {text.encode() for text in texts}
        pressed, due = (b"", 0.0), time.monotonic()
        while (missing or pressed[0]) and time.monotonic() < ends:
            if not pressed[0] and time.monotonic() >= due:
                pressed = self._press_one()
            self._read(0.002)
            missing = {text for text in missing if text not in self._seen}
            if pressed[0] and pressed[0] in self._seen:
                echoes.append(time.monotonic() - pressed[1])
                pressed, due = (b"", 0.0), time.monotonic() + KEY_EVERY
            if len(self._seen) > 1 << 20:
                del self._seen[: -1 << 16]
        if pressed[0]:
            echoes.append(time.monotonic() - pressed[1])
        return echoes

    def _press_one(self) -> tuple[bytes, float]:
        key = chr(FIRST_KEY + self._keys).encode()
        self._keys += 1
        os.write(self._terminal, key)
        return key, time.monotonic()

    def cost(self, keys: bytes = b"", size: tuple[int, int] | None = None) -> Cost:
        """Press keys, or be another size, and wait until nothing more is painted."""
        self.rest()
        cpu, began = self.cpu(), time.monotonic()
        if size is not None:
            columns, rows = size
            fcntl.ioctl(
                self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
            )
        if keys:
            self.press(keys)
        last = self.rest()
        return Cost(max(last - began, 0.0), self.cpu() - cpu)

    def rest(self) -> float:
        """Wait until nothing is painted for a while; return when the last was."""
        last = time.monotonic()
        while select.select([self._terminal], [], [], QUIET)[0] and self._read(0):
            last = time.monotonic()
        return last

    def cpu(self) -> float:
        """How many seconds of CPU the program has taken, all its threads that live."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1e9

    def memory(self) -> float:
        """How many bytes of it are in memory."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))

    def _read(self, seconds: float) -> bool:
        """Read what is painted within so many seconds; False: the program has ended."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._terminal, 1 << 16)
        except OSError:
            return False
        self._seen += data
        return bool(data)
