"""When the remote side is away, and when it is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from parley.errors import ConnectionClosed
from parley.transport.http._client.reconnect import ReconnectState


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


def watched() -> tuple[ReconnectState, Clock, list[str], list[ConnectionClosed]]:
    """Return one on a clock that the test moves, what it tells, and why it was given up."""
    reported: list[str] = []
    gone: list[ConnectionClosed] = []
    state = ReconnectState(lambda state, reason: reported.append(state), gone.append)
    clock: Any = Clock()
    state._loop = clock
    return state, clock, reported, gone


async def test_it_is_given_up_when_one_part_stays_away_and_not_while_all_come_back() -> None:
    state, clock, reported, gone = watched()
    assert state.negotiated("1; grace=60")
    state.mark_interrupted("first", "cut")
    for _ in range(5):  # there is always one that is away, and each comes back
        clock.pass_by(25)
        state.mark_interrupted("second", "cut")
        clock.pass_by(25)
        state.mark_reconnected("first")
        state.mark_interrupted("first", "cut")
        state.mark_reconnected("second")
    assert not gone
    assert reported == ["away"]
    clock.pass_by(59)
    assert not gone
    clock.pass_by(1)
    assert [str(each) for each in gone] == ["the server has been unreachable for 60 seconds: cut"]


async def test_who_rests_continues_when_another_part_has_come_back() -> None:
    state = ReconnectState(None, lambda reason: None)
    state.mark_interrupted("first", "cut")
    state.mark_interrupted("second", "cut")
    resting = asyncio.create_task(state.wait_before_retry(1000))
    await asyncio.sleep(0)
    state.mark_reconnected("third")  # it was never away
    assert not resting.done()
    state.mark_reconnected("first")
    await resting
    await state.wait_before_retry(0.001)
    state.close("over", is_ours=True)


async def test_it_is_back_when_the_last_part_is() -> None:
    state, clock, reported, gone = watched()
    state.mark_interrupted("first", "cut")
    state.mark_interrupted("second", "cut")
    state.mark_reconnected("first")
    assert reported == ["away"]
    state.mark_reconnected("second")
    assert reported == ["away", "connected"]
    clock.pass_by(1000)
    assert not gone
