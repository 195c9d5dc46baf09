"""A line at the bottom of the terminal that says what is waited for, while nothing else is written.

It appears when nothing has been written for a while and goes before anything is. Where stderr is no
terminal there is none, and neither is there while a question is open.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from parley._display_text import sanitize_text

from .held_stderr import is_stderr_held

__all__ = ["ProgressLine"]

QUIET_SECONDS = 2.0
"""Seconds of silence after which the line appears."""
_WIDTH = 70


class ProgressLine:
    """A line that shows what is waited for."""

    def __init__(self, is_in_line: Callable[[], bool] = lambda: False) -> None:
        """Show nothing yet.

        Args:
            is_in_line: Tells whether a line has begun that must not be written over.
        """
        self._is_in_line = is_in_line
        self._is_on = sys.stderr.isatty()
        self._what = ""
        self._since = 0.0
        self._is_shown = False
        self._timer: asyncio.TimerHandle | None = None

    def wait(self, what: str) -> None:
        """Show from now on that this is waited for; nothing if it is empty."""
        self.clear()
        self._what = sanitize_text(what, is_line=True)[:_WIDTH]
        if self._is_on:
            self._since = asyncio.get_running_loop().time()
            self._start()

    def clear(self) -> None:
        """Make room for something else; the silence begins again."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_shown = False
        if self._timer is not None:
            self._start()

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._what:
            self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._show)

    def _show(self) -> None:
        loop = asyncio.get_running_loop()
        if not self._is_in_line() and not is_stderr_held():
            seconds = int(loop.time() - self._since)
            sys.stderr.write(f"\r\x1b[K… {self._what} ({seconds} s)")
            sys.stderr.flush()
            self._is_shown = True
        self._timer = loop.call_later(1.0, self._show)
