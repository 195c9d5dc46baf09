"""The timeout of a component that blocks its chain: by not answering, or by a flood."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ComponentTimeout:
    """Waits for one component: for its answer, or for what it sends to be taken."""

    def __init__(
        self, name: str, seconds: float, on_end: Callable[[ComponentTimeout], None]
    ) -> None:
        """Prepare to wait.

        Args:
            name: What the component is called.
            seconds: How long it may take.
            on_end: Called when the time is over.
        """
        self.name = name
        self._seconds = seconds
        self._on_end = on_end
        self._timer: asyncio.TimerHandle | None = None
        self.is_asked = False
        """Whether it is waited for: it has been asked, for one, and has not answered yet."""

    def begin(self) -> None:
        """Wait from now on."""
        self.end()
        self.is_asked = True
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._on_end, self)

    def end(self) -> None:
        """Wait no more: it has done what it is waited for, or is gone."""
        self.is_asked = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
