"""Forwards Parley's log to the history, since stderr would damage the screen.

A peer that sends invalid messages causes a warning for each. So repeated lines are left out, and
after many lines there is a last one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from .render.blocks import Kind

__all__ = ["LogForwarder"]

MAX_LINES = 100
_LAST = "further log messages are not shown"


class LogForwarder(logging.Handler):
    """A log handler that is active while its block runs."""

    def __init__(self, say: Callable[[str, Kind], object]) -> None:
        """Prepare.

        Args:
            say: Called on the event loop with each line.
        """
        super().__init__(logging.WARNING)
        self._say = say
        self._logger = logging.getLogger("parley")
        self._before: list[logging.Handler] = []
        self._count = 0
        self._last = ""

    def __enter__(self) -> LogForwarder:
        self._loop = asyncio.get_running_loop()
        self._before, self._logger.handlers = self._logger.handlers, [self]
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.handlers = self._before

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record; any thread may emit one."""
        text = record.getMessage()
        if record.exc_info is not None and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        if text == self._last or self._count > MAX_LINES:
            return
        self._last = text
        self._count += 1
        text = _LAST if self._count > MAX_LINES else text
        kind: Kind = "error" if record.levelno >= logging.ERROR else "warning"
        with suppress(RuntimeError):  # the loop is closing
            self._loop.call_soon_threadsafe(self._say, text, kind)
