"""What the end-to-end tests share."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from .browser import close_chromium
from .shell import Shell


@pytest.fixture(scope="session", autouse=True)
def no_chromium_is_left() -> Generator[None]:
    """End the browser after the last test."""
    yield
    close_chromium()


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("bin"))
