"""What the end-to-end tests share."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from .browser import close_chromium
from .command import fork_server
from .shell import Shell


@pytest.fixture(scope="session", autouse=True)
def nothing_shared_is_left() -> Generator[None]:
    """End the processes that tests share after the last of them."""
    yield
    close_chromium()
    fork_server.close()


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("bin"))
