"""`async def test_*` functions run on an event loop of their own, each within a bound.

The clock of that loop leaves out the moments in which the process could not run (`steady_loop.py`).
A plugin of pytest's, which `conftest.py` loads.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import pytest
from tests import steady_loop

__all__ = ["pytest_pyfunc_call"]

BOUND_SECONDS = 300.0
"""A test that takes longer waits for something that does not come, also on a busy machine."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test: Callable[..., Awaitable[None]] = pyfuncitem.obj
    if not inspect.iscoroutinefunction(inspect.unwrap(test)):
        return None
    names = inspect.signature(test).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in names}
    with asyncio.Runner(loop_factory=steady_loop.new_event_loop) as runner:
        runner.run(_bounded(test, arguments))
    return True


async def _bounded(test: Callable[..., Awaitable[None]], arguments: dict[str, object]) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        await test(**arguments)
