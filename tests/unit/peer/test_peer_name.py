from __future__ import annotations

import pytest

from parley.peer._peer_name import with_article


@pytest.mark.parametrize(
    ("name", "expected"),
    [("agent", "the agent"), ("client", "the client"), ("codex", "codex"), ("agents", "agents")],
)
def test_a_role_has_an_article_and_a_name_has_none(name: str, expected: str) -> None:
    assert with_article(name) == expected
