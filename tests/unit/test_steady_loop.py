"""The clock of the loop that tests run on, on a machine that stalls the process again and again."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Awaitable, Callable, Generator

import pytest
from tests.steady_loop import SteadyEventLoop

Run = Callable[[Awaitable[None]], None]


@pytest.fixture
def run() -> Generator[Run]:
    """Run something on a loop that finds a second gone whenever it looks at the clock."""
    seconds = itertools.count()
    loop = SteadyEventLoop(lambda: float(next(seconds)))
    yield loop.run_until_complete
    loop.close()


def test_an_exchange_is_over_before_a_timeout_however_often_the_process_stalls(run: Run) -> None:
    async def exchange() -> None:
        loop = asyncio.get_running_loop()
        ends = socket.socketpair()
        with ends[0], ends[1]:
            for end in ends:
                end.setblocking(False)
            async with asyncio.timeout(0.05):
                for number in range(100):
                    here, there = ends[number % 2], ends[1 - number % 2]
                    receiving = asyncio.ensure_future(loop.sock_recv(there, 1))
                    await loop.sock_sendall(here, b"x")
                    assert await receiving == b"x"

    run(exchange())


def test_a_timer_is_due_after_the_wait_for_it(run: Run) -> None:
    async def wait() -> None:
        clock = asyncio.get_running_loop().time
        began = clock()
        await asyncio.sleep(0.01)
        assert 0.01 <= clock() - began < 0.02

    run(wait())


def test_work_without_an_end_reaches_its_timeout(run: Run) -> None:
    async def work() -> None:
        while True:  # noqa: ASYNC110 - it waits for nothing
            await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        run(asyncio.wait_for(work(), 0.01))
