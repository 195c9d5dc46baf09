"""Running a program on this process's stdin and stdout."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from .base import Transport
from .stdio import StdioTransport

__all__ = ["HINT", "run_on_stdio"]

HINT = "this is an agent, which a program talks to over stdin and stdout"
"""What to tell somebody who starts an agent by hand."""


def run_on_stdio(serve: Callable[[Transport], Awaitable[None]], hint: str) -> None:
    """Serve until the connection ends; Ctrl-C and SIGTERM end it too, in an orderly way.

    The event loop is uvloop's where that is installed. Handlers that do not end when they are
    cancelled do not keep the process alive. One that calls `sys.exit` ends it with that code.

    Args:
        serve: Serves one connection.
        hint: What to tell somebody who starts it by hand.
    """
    if sys.stdin is not None and sys.stderr is not None and sys.stdin.isatty():
        sys.stderr.write(f"{hint}\n")
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
