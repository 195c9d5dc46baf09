"""Hands the terminal over to another program: to an agent's login in the terminal.

Textual takes the terminal back only if nothing is raised meanwhile, so errors are raised after
that. Nothing may be painted before. Ctrl-C belongs to the other program and must not end this one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from textual.app import App

from parley._display_text import sanitize_text
from parley.client import TerminalLogin, run_login

__all__ = ["TerminalHandover"]


class TerminalHandover:
    """Hands the terminal of an app over to programs, one at a time."""

    def __init__(self, app: App[Any]) -> None:
        self.is_handed_over = False
        """Whether another program has the terminal now."""
        self._app = app
        self._turn = asyncio.Lock()

    async def run(self, login: TerminalLogin) -> int:
        """Run a login in the terminal; returns its exit status.

        Raises:
            SuspendNotSupported: This terminal cannot be handed over.
            OSError: The program cannot be started.
        """
        error: BaseException | None = None
        status = -1
        async with self._turn:
            with self._app.batch_update(), self._app.suspend(), _interrupts() as interrupted:
                self.is_handed_over = True
                try:
                    status = await _logged_in(login, interrupted)
                except (asyncio.CancelledError, OSError) as caught:
                    error = caught
                finally:
                    self.is_handed_over = False
        if error is not None:
            raise error
        return status


async def _logged_in(login: TerminalLogin, interrupted: asyncio.Event) -> int:
    """Run a login; if it fails, keep its output on the screen until the user presses Enter."""
    _say(f"parley: running {login.line}")
    status = await run_login(login)
    if status and not interrupted.is_set():
        _say(f"parley: it exited with code {status}. Press Enter to return to the chat.")
        await _key_or(interrupted)
    return status


def _say(text: str) -> None:
    sys.stdout.write(f"{sanitize_text(text, is_line=True)}\n")
    sys.stdout.flush()


@contextmanager
def _interrupts() -> Generator[asyncio.Event]:
    """Record Ctrl-C instead of raising; programs that are started do not inherit that."""
    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()

    def note(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(interrupted.set)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


async def _key_or(interrupted: asyncio.Event) -> None:
    """Wait for Enter or Ctrl-C."""
    loop, terminal = asyncio.get_running_loop(), 0

    def read() -> None:
        os.read(terminal, 1024)
        interrupted.set()

    loop.add_reader(terminal, read)
    try:
        await interrupted.wait()
    finally:
        loop.remove_reader(terminal)
