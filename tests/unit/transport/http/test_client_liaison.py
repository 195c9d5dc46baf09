"""When the remote side is away, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from parley.errors import ConnectionClosed
from parley.transport.http.client.liaison import Liaison


class Clock:
    """A loop of which only the time counts."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[..., None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, run: Callable[..., None]) -> Clock:
        return self.call_at(self.now + seconds, run)

    def call_at(self, when: float, run: Callable[..., None]) -> Clock:
        self._due = [(when, run)]
        return self

    def cancel(self) -> None:
        self._due = []

    def pass_by(self, seconds: float) -> None:
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, run = self._due.pop(0)
            run()
        self.now = end


def watched() -> tuple[Liaison, Clock, list[str], list[ConnectionClosed]]:
    """Return one on a clock that the test moves, what it tells, and why it was given up."""
    told: list[str] = []
    gone: list[ConnectionClosed] = []
    liaison = Liaison(lambda state, reason: told.append(state), gone.append)
    clock: Any = Clock()
    liaison._loop = clock
    return liaison, clock, told, gone


async def test_it_is_given_up_when_one_part_stays_away_and_not_while_all_come_back() -> None:
    liaison, clock, told, gone = watched()
    assert liaison.negotiated("1; grace=60")
    liaison.is_away("first", "cut")
    for _ in range(5):  # there is always one that is away, and each comes back
        clock.pass_by(25)
        liaison.is_away("second", "cut")
        clock.pass_by(25)
        liaison.is_back("first")
        liaison.is_away("first", "cut")
        liaison.is_back("second")
    assert not gone
    assert told == ["away"]
    clock.pass_by(59)
    assert not gone
    clock.pass_by(1)
    assert [str(each) for each in gone] == ["the remote side has been away for 60 seconds: cut"]


async def test_who_rests_goes_on_when_another_part_has_come_back() -> None:
    liaison = Liaison(None, lambda reason: None)
    liaison.is_away("first", "cut")
    liaison.is_away("second", "cut")
    resting = asyncio.create_task(liaison.rest(1000))
    await asyncio.sleep(0)
    liaison.is_back("third")  # it was never away
    assert not resting.done()
    liaison.is_back("first")
    await resting
    await liaison.rest(0.001)
    liaison.close("over", is_ours=True)


async def test_it_is_back_when_the_last_part_is() -> None:
    liaison, clock, told, gone = watched()
    liaison.is_away("first", "cut")
    liaison.is_away("second", "cut")
    liaison.is_back("first")
    assert told == ["away"]
    liaison.is_back("second")
    assert told == ["away", "connected"]
    clock.pass_by(1000)
    assert not gone
