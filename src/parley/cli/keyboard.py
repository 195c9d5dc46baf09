"""The keyboard of the terminal on stdin: lines, and input that came too early."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

from .reporting import say

__all__ = ["discard_typed_input", "read_line"]


async def read_line(prompt: str) -> str | None:
    """Show a prompt and return the line that is entered; None at the end of the input."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        loop.remove_reader(0)
        if not arrived.done():
            arrived.set_result(os.read(0, 4096))

    loop.add_reader(0, read)
    try:
        data = await arrived
    finally:
        loop.remove_reader(0)
    if not data:
        say("")  # The prompt's line is still open.
        return None
    return data.decode(errors="replace").strip()


def discard_typed_input() -> None:
    """Discard what was typed before a question was shown: it cannot be the answer."""
    with suppress(ImportError):  # Not every system has it.
        import termios

        with suppress(termios.error):  # Stdin is not a terminal.
            termios.tcflush(0, termios.TCIFLUSH)
