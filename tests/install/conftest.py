"""Environments that tests share: one without extras, one with each extra, and one with all."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from .environments import Environment, create_environment


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Return a function that returns the environment with an extra, or with none."""
    home = tmp_path_factory.mktemp("environments")

    @functools.cache
    def with_extra(extra: str) -> Environment:
        return create_environment(home / (extra or "bare"), extra)

    return with_extra
