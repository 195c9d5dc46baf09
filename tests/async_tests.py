"""`async def test_*` functions run on an event loop of their own, each within a bound.

The clock of that loop leaves out the moments in which the process could not run (`steady_loop.py`).
A plugin of pytest's, which `conftest.py` loads.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests import steady_loop

__all__ = ["pytest_pyfunc_call", "within"]

FOLDER = Path(__file__).parent

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
    await within(BOUND_SECONDS, test(**arguments))


async def within(seconds: float, test: Awaitable[None]) -> None:
    """Run a test; if it takes longer, fail with the line that it waits in."""
    bound = asyncio.timeout(seconds)
    try:
        async with bound:
            await test
    except TimeoutError as error:
        if not bound.expired():
            raise
        raise AssertionError(f"after {seconds:g} s the test waits in {_place(error)}") from error


def _place(error: TimeoutError) -> str:
    """Return the innermost line of a test, or of a helper, that was cancelled."""
    cancelled = error.__cause__ or error
    frames = traceback.extract_tb(cancelled.__traceback__)
    ours = [each for each in frames if FOLDER in Path(each.filename).parents]
    own = [each for each in ours if each.filename != __file__] or frames
    path = Path(own[-1].filename)
    shown = path.relative_to(FOLDER.parent) if FOLDER in path.parents else path
    return f"{shown}, line {own[-1].lineno}: {own[-1].line}"
