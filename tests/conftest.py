"""`async def test_*` functions run on an event loop of their own, each within a bound.

Property tests judge no times: how long an example takes says more about the machine. What belongs
to the user, configuration and history, is of the tests alone.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")

BOUND_SECONDS = 60.0
"""A test that takes longer waits for something that does not come; others may keep us waiting."""
_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty configuration and state for each test; processes inherit it."""
    home = tmp_path_factory.getbasetemp() / f"places-{next(_NUMBERS)}"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test: Callable[..., Awaitable[None]] = pyfuncitem.obj
    if not inspect.iscoroutinefunction(inspect.unwrap(test)):
        return None
    names = inspect.signature(test).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in names}
    asyncio.run(_bounded(test, arguments))
    return True


async def _bounded(test: Callable[..., Awaitable[None]], arguments: dict[str, object]) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        await test(**arguments)
