"""The terminal, given to another program for a while: to a login that an agent has for terminals.

Textual takes the terminal back only where nothing is raised meanwhile, so what goes wrong waits
until then. Nothing may be painted before that. Ctrl-C is the other program's; it must not end us.
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
    """Gives the terminal of an app away, to one program after the other."""

    def __init__(self, app: App[Any]) -> None:
        self.is_handed_over = False
        """Whether another program has it now."""
        self._app = app
        self._turn = asyncio.Lock()

    async def run(self, login: TerminalLogin) -> int:
        """Run a login in the terminal; returns its exit status.

        Raises:
            SuspendNotSupported: This terminal cannot be given away.
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
    """Run a login; what it says when it fails stays on the screen until it was read."""
    _say(f"parley: this runs now: {login.line}")
    status = await run_login(login)
    if status and not interrupted.is_set():
        _say(f"parley: its exit status is {status}; Enter goes back to the chat")
        await _key_or(interrupted)
    return status


def _say(text: str) -> None:
    sys.stdout.write(f"{sanitize_text(text, is_line=True)}\n")
    sys.stdout.flush()


@contextmanager
def _interrupts() -> Generator[asyncio.Event]:
    """Note Ctrl-C instead of obeying it; a program that is started does not inherit that."""
    loop, interrupted = asyncio.get_running_loop(), asyncio.Event()

    def note(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(interrupted.set)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


async def _key_or(interrupted: asyncio.Event) -> None:
    """Wait until a line was typed, or Ctrl-C was pressed."""
    loop, terminal = asyncio.get_running_loop(), 0

    def read() -> None:
        os.read(terminal, 1024)
        interrupted.set()

    loop.add_reader(terminal, read)
    try:
        await interrupted.wait()
    finally:
        loop.remove_reader(terminal)
