"""Backpressure of one port: from whom it is not read, and whom it keeps waiting."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .port import Port


class Backpressure:
    """The pairs that a port is part of, as far as one of them waits for the other."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._waits_for: set[Port] = set()
        self._delays: set[Port] = set()
        self._timer: asyncio.TimerHandle | None = None

    def check(self, other: Port) -> None:
        """Read no more from the port while another one, to which it has just sent, is full."""
        if other not in self._waits_for:
            self._look(other)

    def _look(self, other: Port) -> None:
        room = None if other.lost is not None else other.transport.drained()
        if room is None:
            self._open(other)
            return
        if other not in self._waits_for:
            self._waits_for.add(other)
            other.backpressure._delays.add(self._port)
            if len(self._waits_for) == 1:
                self._port.pause(self)
        other.backpressure.watch()
        room.add_done_callback(lambda _: self._look(other))

    def _open(self, other: Port) -> None:
        if other not in self._waits_for:
            return
        self._waits_for.discard(other)
        other.backpressure._delays.discard(self._port)
        other.backpressure._cancel_timer()
        if not self._waits_for:
            self._port.resume(self)

    def watch(self) -> None:
        """Begin to lose patience with the port, if it has to take something and may not wait."""
        if self._delays and self._port.patience is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._port.patience, self._give_up)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._delays:
            self._port.give_up()

    def release_all(self) -> None:
        """Keep nobody waiting and wait for nobody: the port is gone."""
        self._cancel_timer()
        for other in self._waits_for:
            other.backpressure._delays.discard(self._port)
        self._waits_for.clear()
        for other in list(self._delays):
            other.backpressure._open(self._port)
