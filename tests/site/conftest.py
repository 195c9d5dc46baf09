"""What the tests of the site share."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tests.e2e.browser import close_chromium


@pytest.fixture(scope="session", autouse=True)
def nothing_shared_is_left() -> Generator[None]:
    """End the browser after the last test."""
    yield
    close_chromium()
