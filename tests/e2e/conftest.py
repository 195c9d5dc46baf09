"""What the end-to-end tests share."""

from __future__ import annotations

import pytest

from .shell import Shell


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("bin"))
