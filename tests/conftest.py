"""`async def test_*` functions run on an event loop of their own, each within a bound.

The clock of that loop leaves out the moments in which the process could not run (`steady_loop.py`).

Property tests judge no times: how long an example takes says more about the machine. They try the
same examples each time; `make fuzz` looks for new ones with the profile `search`. What belongs to
the user, configuration and history, is of the tests alone.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests import steady_loop
from tests.parameter_ids import pytest_collection_modifyitems, pytest_make_parametrize_id

__all__ = ["pytest_collection_modifyitems", "pytest_make_parametrize_id", "pytest_pyfunc_call"]

no_clock = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", no_clock, derandomize=True)
settings.register_profile("search", no_clock, print_blob=True)
settings.load_profile("house")
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs would inherit SIG_IGN

BOUND_SECONDS = 300.0
"""A test that takes longer waits for something that does not come, also on a busy machine."""
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
    with asyncio.Runner(loop_factory=steady_loop.new_event_loop) as runner:
        runner.run(_bounded(test, arguments))
    return True


async def _bounded(test: Callable[..., Awaitable[None]], arguments: dict[str, object]) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        await test(**arguments)
