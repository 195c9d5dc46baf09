"""Running an agent on this process's stdin and stdout."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from parley.transport import StdioTransport
from parley.transport.base import Transport

__all__ = ["HINT", "run_on_stdio"]

HINT = "this is an agent, which a program talks to over stdin and stdout"
"""What to tell somebody who starts an agent by hand."""


def run_on_stdio(serve: Callable[[Transport], Awaitable[None]]) -> None:
    """Serve until the connection ends; Ctrl-C and SIGTERM end it too, in an orderly way.

    The event loop is uvloop's where that is installed. Handlers that do not end when they are
    cancelled do not keep the process alive. One that calls `sys.exit` ends it with that code.
    """
    if sys.stdin is not None and sys.stderr is not None and sys.stdin.isatty():
        there = shlex.join(["parley", "run", "Hello", "-a", shlex.join(sys.orig_argv)])
        sys.stderr.write(f"{HINT}; try {there}\n")
    loop = _new_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(_serve(serve))
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_asyncgens())
    except SystemExit:  # of a handler; the sessions are closed first
        loop.set_exception_handler(lambda loop, context: None)
        task.cancel()
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        raise
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
