"""Signals that end us: all agents end, and the terminal is as it was.

When the terminal is gone (SIGHUP), what Textual paints fails for ever and blocks it. So from then
on it paints nowhere. That must be so before SIGCONT is handled, which comes along and has Textual
paint everything; hence a handler of the interpreter's and not one of the event loop's.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["Signals"]

HANG_UP_AFTER = 10.0
"""How many seconds leaving may take when the terminal is gone; our end is the agents', too."""
_NAMES = ("SIGTERM", "SIGHUP")


class Signals:
    """Leaves on a signal while its block runs."""

    def __init__(self, leave: Callable[[], object]) -> None:
        """Prepare.

        Args:
            leave: Called on the event loop.
        """
        self._leave = leave
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._loop = asyncio.get_running_loop()
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None:  # not everywhere are both
                self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGTERM:
            _paint_nowhere()
        self._loop.call_soon_threadsafe(self._leave)


def _paint_nowhere() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for terminal in (0, 1, 2):
        os.dup2(nowhere, terminal)
    last = threading.Timer(HANG_UP_AFTER, os._exit, [128 + 1])
    last.daemon = True
    last.start()
