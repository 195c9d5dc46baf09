"""Exceptions of user code that runs in our process: handlers, tools, callbacks.

User code can raise anything, including `SystemExit`, which `sys.exit` raises, and other exceptions
that are not an `Exception`. In a task, these would escape the event loop and end the program, or
leave a request without a response. They are treated as ordinary failures: the peer gets an error,
and the connection stays open. Code that calls user code therefore does this:

    try:
        result = await handler(request)
    except BaseException as error:
        reraise_if_ending(error)
        logger.exception("the handler failed")

Exceptions that end a task or the program pass through: a cancellation, the closing of a coroutine,
and a real Ctrl-C.
"""

from __future__ import annotations

import asyncio
import signal
import threading


def reraise_if_ending(error: BaseException) -> None:
    """Raise the exception again if it ends the task or the program."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit) or _is_ctrl_c(error):
        raise error


def as_exception(error: BaseException) -> Exception:
    """Return a failure as an `Exception`, wrapping it if it is not one.

    An exception that ends the task or the program is raised again.
    """
    reraise_if_ending(error)
    if isinstance(error, Exception):
        return error
    failure = RuntimeError(f"{type(error).__name__} was raised: {error}")
    failure.__cause__ = error
    return failure


def _is_ctrl_c(error: BaseException) -> bool:
    """Return whether a signal raised the exception, and not user code itself.

    If Python's own SIGINT handler is installed, the two look the same, and it counts as a signal.
    The event loop of `asyncio.run` replaces that handler: the first Ctrl-C cancels the main task,
    and only the second one is raised, by `asyncio.runners`.
    """
    if not isinstance(error, KeyboardInterrupt):
        return False
    if threading.current_thread() is not threading.main_thread():
        return False  # signals are handled in the main thread only
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "asyncio.runners"
