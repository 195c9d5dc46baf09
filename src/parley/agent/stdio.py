"""Running an agent on this process's stdin and stdout."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from parley.transport import StdioTransport
from parley.transport.base import Transport

__all__ = ["run_on_stdio"]


def run_on_stdio(serve: Callable[[Transport], Awaitable[None]]) -> None:
    """Serve until the connection ends; Ctrl-C and SIGTERM end it too, in an orderly way.

    The event loop is uvloop's where that is installed. Handlers that do not end when they are
    cancelled do not keep the process alive.
    """
    loop = _new_loop()
    try:
        asyncio.set_event_loop(loop)
        task = loop.create_task(_serve(serve))
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
