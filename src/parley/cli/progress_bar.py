"""A bar at the bottom of the terminal that says how far something is.

Where stderr is not a terminal there is none.
"""

from __future__ import annotations

import shutil
import sys
import time

from parley._display_text import sanitize_text

__all__ = ["ProgressBar"]

_WIDTH = 24


class ProgressBar:
    """A bar that shows how much is done."""

    def __init__(self, total: int, what: str) -> None:
        """Prepare it for a number of things, such as `commits`."""
        self._total = max(total, 1)
        self._what = what
        self._is_on = sys.stderr.isatty()
        self._begun = time.monotonic()

    def show(self, done: int, note: str = "") -> None:
        """Show how many are done, and a note."""
        if not self._is_on:
            return
        now = time.monotonic()
        filled = _WIDTH * done // self._total
        bar = "█" * filled + "░" * (_WIDTH - filled)
        left = f", {self._left(now, done)} left" if 0 < done < self._total else ""
        line = f"{bar} {done}/{self._total} {self._what}{left}  {sanitize_text(note, is_line=True)}"
        # A line that goes on in the next row could not be cleared.
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{line.rstrip()[:room]}")
        sys.stderr.flush()

    def _left(self, now: float, done: int) -> str:
        seconds = round((now - self._begun) / done * (self._total - done))
        return f"{seconds // 60}:{seconds % 60:02d}"

    def clear(self) -> None:
        """Make room."""
        if self._is_on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
