"""Settings of all tests, and a configuration and state of the user's that are theirs alone.

Property tests judge no times: how long an example takes says more about the machine. They try the
same examples each time; `make fuzz` looks for new ones with the profile `search`.
"""

from __future__ import annotations

import gc
import itertools
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.async_tests import pytest_pyfunc_call
from tests.parameter_ids import pytest_collection_modifyitems, pytest_make_parametrize_id

__all__ = ["pytest_collection_modifyitems", "pytest_make_parametrize_id", "pytest_pyfunc_call"]

no_clock = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", no_clock, derandomize=True)
settings.register_profile("search", no_clock, print_blob=True)
settings.load_profile("house")
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs would inherit SIG_IGN

gc.disable()  # until the tests are collected: hardly anything of that is garbage
gc.set_threshold(20_000, 20, 20)  # a tenth of the time went into looking for garbage

_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def places(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty configuration and state for each test; processes inherit it."""
    home = tmp_path_factory.getbasetemp() / f"places-{next(_NUMBERS)}"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


def pytest_collection_finish() -> None:
    """Leave modules and tests out of every collection of garbage: they stay until the end."""
    gc.collect()
    gc.freeze()
    gc.enable()
