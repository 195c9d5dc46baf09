"""The short way for updates never accepts what the long way refuses, nor reads it differently."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.errors import MalformedValue
from parley.peer._routes import Route, build_routes
from parley.peer._update_reader import UpdateReader
from parley.rpc._engine import Engine, EngineConfig
from parley.rpc._message import Notification
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods

from .raw_peer import NOTE, TABLE, update

ONE = build_routes({"session/update": print}, v1_methods.TABLE, "notification", "client")
SEVERAL = build_routes({"session/update": print, NOTE.name: print}, TABLE, "notification", "client")
NEWER = build_routes({"session/update": print}, v2_methods.TABLE, "notification", "client")
ROUTES = {"one method": ONE, "several methods": SEVERAL, "version 2": NEWER}
by_routes = pytest.mark.parametrize("routes", ROUTES.values(), ids=ROUTES)

Members: TypeAlias = list[tuple[str, Any]]
PARAMS = {"sessionId": "s", "update": {**update("x"), "messageId": "m"}}
GOOD: Members = [("jsonrpc", "2.0"), ("method", "session/update"), ("params", PARAMS)]


def read_by_engine(routes: Mapping[str, Route], line: bytes) -> Any:
    """Return what the long way makes of a line; None if that is not an update."""
    engine: Engine[None] = Engine(EngineConfig())
    event = engine.receive(line)
    if not isinstance(event, Notification) or event.method not in routes:
        return None
    try:
        return routes[event.method].read(event.params)
    except MalformedValue:
        return None


def compare(routes: Mapping[str, Route], block: bytes) -> bool:
    """Read a block both ways; return whether the short way accepted it."""
    reader = UpdateReader(routes.values())
    lines = block.split(b"\n")[:-1]
    expected = [read_by_engine(routes, line) for line in lines]
    groups = reader.read_block(block)
    if groups is not None:
        assert None not in expected, "the long way refuses a line of it"
        assert [params for group in groups for params in group.params] == expected
    for line, params in zip(lines, expected, strict=True):
        if line.startswith(reader.heads) and (found := reader.read(line)) is not None:
            assert found.params == [params]
    return groups is not None


def written(members: Members, comma: str = ",", colon: str = ":") -> bytes:
    """Write an object whose members may be there twice, in any order."""
    parts = (f"{json.dumps(key)}{colon}{json.dumps(value)}" for key, value in members)
    return b"{" + comma.join(parts).encode() + b"}"


def without(name: str) -> Members:
    return [member for member in GOOD if member[0] != name]


NOT_UPDATES = {
    "no method": written(without("method")),
    "no jsonrpc": written(without("jsonrpc")),
    "no params": written(without("params")),
    "null method": written([*without("method"), ("method", None)]),
    "other method": written([*without("method"), ("method", "_other")]),
    "method twice": written([*GOOD, ("method", "_other")]),
    "other method first": written([("method", "_other"), *GOOD]),
    "version 1.0": written([*without("jsonrpc"), ("jsonrpc", "1.0")]),
    "version as number": written([*without("jsonrpc"), ("jsonrpc", 2.0)]),
    "version twice": written([*GOOD, ("jsonrpc", "1.0")]),
    "a request": written([*GOOD, ("id", 1)]),
    "a null id": written([*GOOD, ("id", None)]),
    "a response": written([("jsonrpc", "2.0"), ("id", 1), ("result", {})]),
    "null params": written([*without("params"), ("params", None)]),
    "params as array": written([*without("params"), ("params", [PARAMS])]),
    "params twice": written([*GOOD, ("params", {})]),
    "a batch": b"[" + written(GOOD) + b"]",
    "two on a line": written(GOOD) + written(GOOD),
    "two and a comma": written(GOOD) + b"," + written(GOOD),
    "a newline inside": written(GOOD, comma=",\n"),
    "a newline for a comma": written(GOOD, comma="\n"),
    "both of these": written(GOOD) + b"," + written(GOOD) + b"\n" + written(GOOD, comma="\n"),
    "a blank line": b"",
    "a scalar": b"1",
    "not JSON": b"{",
}
"""Lines that are no update, although much in them is as in one."""


@by_routes
def test_a_block_of_updates_takes_the_short_way(routes: Mapping[str, Route]) -> None:
    assert compare(routes, (written(GOOD) + b"\n") * 3)


@by_routes
def test_lines_may_end_as_on_windows(routes: Mapping[str, Route]) -> None:
    assert compare(routes, written(GOOD) + b"\n" + (written(GOOD) + b"\r\n") * 2)


@by_routes
@pytest.mark.parametrize("line", NOT_UPDATES.values(), ids=NOT_UPDATES)
def test_a_line_that_is_no_update_is_left_to_the_long_way(
    routes: Mapping[str, Route], line: bytes
) -> None:
    good = written(GOOD)
    assert not compare(routes, b"\n".join([good, line, good, b""]))
    assert b"\n" in line or UpdateReader(routes.values()).read(line) is None


def test_all_places_of_all_odd_lines_agree_with_the_long_way() -> None:
    """A peer that breaks two rules in a block cannot make them cancel out."""
    good = written(GOOD)
    for one, other in itertools.product(NOT_UPDATES.values(), repeat=2):
        for lines in ([good, one, other, good], [good, one, good, other, good]):
            assert not compare(ONE, b"\n".join([*lines, b""]))


names = st.sampled_from(["jsonrpc", "method", "params", "id", "result", "error", "_meta", "Method"])
values: st.SearchStrategy[Any] = st.sampled_from(
    ["2.0", "session/update", NOTE.name, PARAMS, {"sessionId": "s"}, {}, [], None, 1, 2.0, True]
)


def shuffled(known: Members, extra: Members, order: Random) -> bytes:
    """Write an object with these members in any order."""
    members = [*known, *extra]
    order.shuffle(members)
    return written(members)


messages = st.builds(
    shuffled,
    st.sampled_from([GOOD, *(without(name) for name, _ in GOOD)]),
    st.lists(st.tuples(names, values), max_size=2),
    st.randoms(use_true_random=False),
)
separators = st.sampled_from([",", ", ", ",\n", "\n", ",,", ""])
lines = st.one_of(
    st.just(written(GOOD)),
    messages,
    st.builds(written, st.just(GOOD), separators),
    st.lists(st.just(written(GOOD)), min_size=2, max_size=3).map(b",".join),
    st.sampled_from(list(NOT_UPDATES.values())),
)


@by_routes
@given(between=st.lists(lines, max_size=5))
def test_any_lines_between_two_updates_agree_with_the_long_way(
    routes: Mapping[str, Route], between: list[bytes]
) -> None:
    compare(routes, b"\n".join([written(GOOD), *between, written(GOOD), b""]))
