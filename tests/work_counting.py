"""Measure work by counting calls or lines, and bound what cannot be counted.

Tests never assert elapsed time: it says more about the machine than about the code.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["bounded_computing", "count_calls", "counting_lines"]

CPU_SECONDS = 60.0


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions are called, those of C included."""
    count = 0

    def see(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def counting_lines() -> Generator[list[int]]:
    """Count the lines of Python that run in the block: the only item of the list."""
    count = [0]

    def see(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        count[0] += event == "line"
        return see

    before = sys.gettrace()
    sys.settrace(see)
    try:
        yield count
    finally:
        sys.settrace(before)


@contextmanager
def bounded_computing() -> Generator[None]:
    """Raise `TimeoutError` in a block that computes for a minute of CPU time.

    Work inside of C, such as that of a regular expression, cannot be counted. Give it an input for
    which linear work takes a fraction of a second, and quadratic work many minutes.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it computed for {CPU_SECONDS:g} seconds")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
