"""The order of a client's numbered POSTs: each is delivered once, after all earlier ones.

Messages may overtake each other in transit, and a client that got no response sends one again. A
message whose number was already received is a duplicate. A message that is refused permanently
(400, 413, 415, 501) counts as received, because the client will not send it in another form; so
does a request beyond a limit (429). The response then has the number in `Parley-Message`. A message
that is refused temporarily (409, 429, 503) does not count: the client sends it again.

The numbers of the events that the agent sends are in `event_numbering.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from .limits import Clock
from .responses import HttpError

Deliver: TypeAlias = Callable[[], asyncio.Future[None] | None]
"""Delivers a message to the agent; returns a future if the agent does not read at the moment."""


class PostOrder:
    """Puts the numbered messages of a connection in order, and detects gaps and duplicates."""

    def __init__(self, clock: Clock, gap: float, window: int) -> None:
        """Expect message 1.

        Args:
            clock: The source of time.
            gap: The seconds that a message waits for earlier ones.
            window: The distance that a number may be ahead of the next expected one.
        """
        self._clock = clock
        self._gap_after = gap
        self._window = window
        self._next = 1
        self._waiting: dict[int, tuple[Deliver, asyncio.Future[None]]] = {}

    def has(self, number: int) -> bool:
        """Return whether the message with this number was received."""
        return number < self._next

    def skip(self, number: int) -> bool:
        """Count a refused message as received; return whether that was possible."""
        if number == self._next:
            self._next += 1
            self._deliver_waiting()
            return True
        if self._next < number < self._next + self._window and number not in self._waiting:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[number] = (_deliver_nothing, waiter)
            return True
        return False

    async def deliver(self, number: int, deliver: Deliver) -> None:
        """Deliver a message after all earlier ones, unless it is a duplicate.

        Raises:
            HttpError: An earlier one has not arrived in time, or too many are missing.
        """
        if number >= self._next + self._window:
            raise HttpError(
                429, "too_far_ahead", f"Message {self._next} has not arrived yet; send it first"
            )
        if number < self._next:
            return
        if number == self._next:
            self._next += 1
            backpressure = deliver()
            self._deliver_waiting()
            if backpressure is not None:
                await backpressure
            return
        await self._wait(number, deliver)

    async def _wait(self, number: int, deliver: Deliver) -> None:
        """Wait for the earlier messages; a duplicate waits for the same future."""
        loop = asyncio.get_running_loop()
        if number not in self._waiting:
            self._waiting[number] = (deliver, loop.create_future())
        delivered = self._waiting[number][1]
        timer = self._clock.call_later(self._gap_after, self._gap_timeout, number, delivered)
        try:
            await asyncio.shield(delivered)
        finally:
            timer.cancel()

    def _gap_timeout(self, number: int, delivered: asyncio.Future[None]) -> None:
        if not delivered.done():
            self._waiting.pop(number, None)
            missing = self._next
            delivered.set_exception(
                HttpError(
                    409, "gap", f"Message {missing} has not arrived; send it and this one again"
                )
            )
            delivered.exception()  # mark it as retrieved: the waiting task may be gone

    def _deliver_waiting(self) -> None:
        """Deliver the messages that waited for the one that has arrived."""
        while (found := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            deliver, delivered = found
            backpressure = deliver()
            if delivered.done():
                continue
            if backpressure is None:
                delivered.set_result(None)
            else:
                backpressure.add_done_callback(partial(_resolve, delivered))


def _resolve(delivered: asyncio.Future[None], _: asyncio.Future[None]) -> None:
    if not delivered.done():
        delivered.set_result(None)


def _deliver_nothing() -> None:
    """Do nothing, in place of a message that was refused."""
