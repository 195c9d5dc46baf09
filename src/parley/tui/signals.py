"""Orderly exit on signals: all agents end, and the terminal is restored.

When the terminal is gone (SIGHUP), Textual's output fails and blocks, so it is redirected. That
must happen before SIGCONT is handled, which arrives at the same time and makes Textual paint
everything; hence a handler of the interpreter and not one of the event loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["ExitSignals"]

HANG_UP_AFTER = 10.0
"""The maximum seconds for the exit when the terminal is gone; it also ends the agents."""
_NAMES = ("SIGTERM", "SIGHUP")


class ExitSignals:
    """Requests the exit of the app on a signal while its block runs."""

    def __init__(self, leave: Callable[[], object]) -> None:
        """Prepare.

        Args:
            leave: Called on the event loop.
        """
        self._leave = leave
        self._before: dict[int, Any] = {}

    def __enter__(self) -> ExitSignals:
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
            _stop_painting()
        self._loop.call_soon_threadsafe(self._leave)


def _stop_painting() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for terminal in (0, 1, 2):
        os.dup2(nowhere, terminal)
    last = threading.Timer(HANG_UP_AFTER, os._exit, [128 + 1])
    last.daemon = True
    last.start()
