"""Time as the client needs it; an event loop has both methods, a test's clock is moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["Clock", "Timer"]


class Timer(Protocol):
    """Something that will be called."""

    def cancel(self) -> None:
        """Have it not called."""


class Clock(Protocol):
    """Tells the time and calls later."""

    def time(self) -> float:
        """Return the seconds since some point in the past."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Call something after some seconds."""
        ...
