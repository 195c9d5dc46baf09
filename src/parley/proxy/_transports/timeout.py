"""The timeout of a component that blocks its chain: by not answering, or by a flood."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ComponentTimeout:
    """Waits for one component: for its answer, or for what it sends to be taken."""

    def __init__(
        self, name: str, seconds: float, on_end: Callable[[ComponentTimeout], None]
    ) -> None:
        """Create a timeout that is not running.

        Args:
            name: The name of the component.
            seconds: How long it may take.
            on_end: Called when the time is over.
        """
        self.name = name
        self._seconds = seconds
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self.is_waiting = False
        """Whether a response of the component is awaited."""

    def begin(self) -> None:
        """Start the timer."""
        self.end()
        self.is_waiting = True
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._on_end, self)

    def end(self) -> None:
        """Stop the timer: the component has responded, or is disconnected."""
        self.is_waiting = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
