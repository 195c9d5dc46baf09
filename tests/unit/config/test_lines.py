from __future__ import annotations

import pytest

from parley.config._lines import line_of

TEXT = """\
# limits = 1
http = "x"

[limits]
connections = 4
"odd name" = 1

[agents.one]
command = ["a", "="]
env.NAME = "b"

[[list]]
inside = 1
"""


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("http: expected a string", 2),
        ("limits.connections: expected", 5),
        ("limits.other is not known", 4),
        ("agents.one.command is empty", 9),
        ("agents.one.env.NAME: expected", 10),
        ("agents.one: it needs", 8),
        ("list.inside: expected", 13),
        ("elsewhere is not known", None),
        ("", None),
    ],
)
def test_the_line_is_found_that_a_message_is_about(message: str, line: int | None) -> None:
    assert line_of(TEXT, message) == line


def test_a_place_may_be_counted_from_a_table() -> None:
    assert line_of(TEXT, "one.command is empty", "agents") == 9
    assert line_of(TEXT, "two.command is empty", "agents") is None
