"""The order of a client's numbered messages: each is taken once, after all before it.

Messages may overtake each other on the way, and a client that has seen no answer sends one again.
A message with a number that was had is taken for that one. A message that is refused for what it is
(400, 413, 415, 501) counts as had, because the client will not send it in another form; so does a
request that is one too many (429). The answer then has the number in `Parley-Message`. One that is
refused for the moment (409, 429, 503) does not count: it is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from .answers import Refused
from .limits import Clock

__all__ = ["Order", "Take"]

Take: TypeAlias = Callable[[], asyncio.Future[None] | None]
"""Takes a message; returns what to wait for if it is to be waited for."""


class Order:
    """Where the numbered messages of a connection stand."""

    def __init__(self, clock: Clock, gap: float, window: int) -> None:
        """Begin with 1.

        Args:
            clock: What time it is.
            gap: How many seconds a message waits for those before it.
            window: How far ahead of the next one a number may be.
        """
        self._clock = clock
        self._gap = gap
        self._window = window
        self._next = 1
        self._early: dict[int, tuple[Take, asyncio.Future[None]]] = {}

    def has(self, number: int) -> bool:
        """Tell whether a message with that number was had."""
        return number < self._next

    def skip(self, number: int) -> bool:
        """Count a message as had that is refused; tell whether it counts."""
        if number == self._next:
            self._next += 1
            self._go_on()
            return True
        if self._next < number < self._next + self._window and number not in self._early:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._early[number] = (_nothing, waiter)
            return True
        return False

    async def take(self, number: int, take: Take) -> None:
        """Take a message in its turn, unless it was had.

        Raises:
            Refused: One before it has not come in time, or many have not.
        """
        if number >= self._next + self._window:
            raise Refused(429, "too_far_ahead", f"Message {self._next} has not come; wait for it")
        if number < self._next:
            return
        if number == self._next:
            self._next += 1
            waiting = take()
            self._go_on()
            if waiting is not None:
                await waiting
            return
        await self._wait(number, take)

    async def _wait(self, number: int, take: Take) -> None:
        """Wait for those before it; one that was sent twice waits together with itself."""
        loop = asyncio.get_running_loop()
        if number not in self._early:
            self._early[number] = (take, loop.create_future())
        turn = self._early[number][1]
        timer = self._clock.call_later(self._gap, self._give_up, number, turn)
        try:
            await asyncio.shield(turn)
        finally:
            timer.cancel()

    def _give_up(self, number: int, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._early.pop(number, None)
            missing = self._next
            turn.set_exception(
                Refused(409, "gap", f"Message {missing} has not come; send it and this one again")
            )
            turn.exception()  # whoever waits gets it; perhaps nobody does any more

    def _go_on(self) -> None:
        """Take what has waited for the message that came."""
        while (found := self._early.pop(self._next, None)) is not None:
            self._next += 1
            take, turn = found
            waiting = take()
            if turn.done():
                continue
            if waiting is None:
                turn.set_result(None)
            else:
                waiting.add_done_callback(partial(_finish, turn))


def _finish(turn: asyncio.Future[None], _: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _nothing() -> None:
    """Take a message that was refused."""
