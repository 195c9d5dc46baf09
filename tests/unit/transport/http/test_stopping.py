from __future__ import annotations

import asyncio
import os
import signal

import pytest

from parley.transport.http._app.graceful_shutdown import GracefulShutdown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_although_nobody_reads_its_output(number: int) -> None:
    received: list[bool] = []

    def report(is_second: bool) -> None:
        received.append(is_second)
        raise BrokenPipeError

    loop = asyncio.get_running_loop()
    problems: list[object] = []
    loop.set_exception_handler(lambda loop, context: problems.append(context))
    with GracefulShutdown(report) as stop:
        os.kill(os.getpid(), number)
        await stop.wait()
        assert not stop.is_forced
    assert (received, problems) == ([False], [])
