"""The keep-alive timer of a connection to a server, over HTTP/2 or WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class KeepAliveTimer:
    """A timer that pings a silent peer after one interval, and gives it up after another."""

    __slots__ = ("_interval", "_is_ping_pending", "_on_silence", "_ping", "_timer", "has_received")

    def __init__(
        self, interval: float, *, ping: Callable[[], bool], on_silence: Callable[[], None]
    ) -> None:
        """Create a timer that is not running.

        Args:
            interval: Seconds of silence after which the peer is pinged.
            ping: Sends a ping; returns False if that is not possible yet.
            on_silence: Called when the peer has not replied for another interval.
        """
        self.has_received = True
        """Whether something has arrived since the last check; set by the connection."""
        self._interval = interval
        self._ping = ping
        self._on_silence = on_silence
        self._is_ping_pending = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer."""
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._check)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        if self.has_received:
            self.has_received = self._is_ping_pending = False
        elif self._is_ping_pending:
            self._on_silence()
            return
        else:
            self._is_ping_pending = self._ping()
        self.start()
