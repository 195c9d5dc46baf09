"""A transport over this process's own stdin and stdout, and a runner that serves on it.

The protocol gets private copies of both descriptors. Descriptor 1 then points to stderr and
descriptor 0 to the null device, so that a stray `print`, a library that writes to stdout, or a
child process can neither insert a line into the protocol stream nor consume one. Text that was
printed earlier and is still in Python's buffer goes to stderr as well; text printed later appears
there line by line.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TextIO

from parley.errors import ConnectFailed

from ._base import MAX_MESSAGE_BYTES, Transport
from ._pipe import PipeTransport


class StdioTransport(PipeTransport):
    """A transport to the program that started this process, over stdin and stdout.

    Create at most one per process: it takes over stdin and stdout for good. `print` writes to
    stderr from then on.
    """

    def __init__(self, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """Take over stdin and stdout for the rest of the process's life.

        Raises:
            ConnectFailed: The process has no stdin or no stdout.
        """
        if sys.__stdin__ is None or sys.__stdout__ is None:
            raise ConnectFailed("this process was started without stdin or without stdout")
        null = os.open(os.devnull, os.O_RDWR)
        if null == 2:  # stderr is closed: the null device replaces it, not one of the copies below
            os.set_inheritable(2, True)
        super().__init__(
            os.dup(0), os.dup(1), max_message_bytes=max_message_bytes, detects_hangup=True
        )
        # In a process started without stderr, 2 may be any file by now, such as the event loop's.
        has_stderr = null == 2 or sys.__stderr__ is not None
        os.dup2(null, 0)
        os.dup2(2 if has_stderr else null, 1)
        if null != 2:
            os.close(null)
        if sys.stdout is not None:
            with suppress(OSError):
                sys.stdout.flush()
        printed: TextIO | None = sys.stdout
        if isinstance(printed, io.TextIOWrapper):  # as stderr is, so that prints show at once
            printed.reconfigure(line_buffering=True)


HINT = "this is an agent, which a program talks to over stdin and stdout"
"""Shown to a person who starts an agent in a terminal."""


def serve_stdio(serve: Callable[[Transport], Awaitable[None]], hint: str) -> None:
    """Serve on stdin and stdout until the connection ends, or until Ctrl-C or SIGTERM.

    It uses uvloop if that is installed. Signals cancel `serve`, so that it can clean up. Handlers
    that ignore cancellation do not keep the process alive.

    Args:
        serve: Serves one connection.
        hint: Written to stderr if stdin is a terminal.
    """
    if sys.stdin is not None and sys.stderr is not None and sys.stdin.isatty():
        sys.stderr.write(f"{hint}\n")
    # Not `asyncio.run`, which waits for all tasks, even for those that ignore their cancellation.
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(_serve(serve))
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def _serve(serve: Callable[[Transport], Awaitable[None]]) -> None:
    await serve(StdioTransport())


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
