"""Parameter ids stay short: a test can be named on a command line and in a report.

A long text as a parameter is shown by its beginning and its length. What is still too long, several
parameters or an id given by hand, stops the run before it begins. A plugin of pytest's, which
`conftest.py` loads.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

__all__ = ["pytest_collection_modifyitems", "pytest_make_parametrize_id"]

MAX_ID = 100
_LONG = 40
"""From here on a text is shortened."""
_KEPT = 24


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return the id of a long text or number; None leaves any other value to pytest."""
    if not isinstance(val, str | bytes | int):
        return None
    text = val.decode("latin-1") if isinstance(val, bytes) else str(val)
    if len(text) < _LONG:
        return None
    begin = text[:_KEPT].encode("unicode_escape").decode()[:_KEPT]
    return f"{begin}...{len(text)}"


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse to run tests whose ids are too long."""
    long = {
        item.nodeid.partition("[")[0]
        for item in items
        if len(item.nodeid.partition("[")[2]) > MAX_ID
    }
    if long:
        raise pytest.UsageError(
            f"Parameter ids of at most {MAX_ID} characters, please. Give ids= for these:\n"
            + "\n".join(sorted(long))
        )
