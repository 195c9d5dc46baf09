"""The lists of session methods match the method tables."""

from __future__ import annotations

from parley.schema._session_methods import (
    BEGINS,
    CLOSES,
    OPENS,
    REOPENS,
)
from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.methods import TABLE as V2

TO_AGENT = [each for table in (V1, V2) for each in table.methods if each.to == "agent"]


def test_what_begins_and_closes_sessions_is_what_the_tables_say() -> None:
    assert {each.name for each in TO_AGENT if each.opens_session} == BEGINS
    assert {each.name for each in TO_AGENT if each.closes_session} == CLOSES


def test_what_takes_servers_for_a_session_opens_one() -> None:
    takers = {each.name for each in TO_AGENT if hasattr(each.params, "mcp_servers")}
    assert takers == OPENS == BEGINS | REOPENS
