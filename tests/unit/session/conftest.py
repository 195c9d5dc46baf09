"""Words of both versions."""

from __future__ import annotations

import pytest

from parley.session.words import Words, words_of


@pytest.fixture
def words1() -> Words:
    return words_of(1)


@pytest.fixture
def words2() -> Words:
    return words_of(2)
