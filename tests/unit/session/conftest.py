"""Dialects of both protocol versions."""

from __future__ import annotations

import pytest

from parley.session._dialect import Dialect, dialect_of


@pytest.fixture
def dialect1() -> Dialect:
    return dialect_of(1)


@pytest.fixture
def dialect2() -> Dialect:
    return dialect_of(2)
