"""A mistake of the program's is told by name where it is made."""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.given import as_block, as_list, check_text

ENTRY = v2.PlanEntry(content="Look", priority="low", status="pending")


@pytest.mark.parametrize(
    "block",
    [
        v2.TextContent(text="a"),
        v2.ImageContent(data="", mime_type="image/png"),
        Unknown("x_hologram", b'{"type":"x_hologram"}'),
    ],
)
def test_a_block_is_taken_as_it_is(block: v2.ContentBlock) -> None:
    assert as_block(block, "say") is block


def test_a_string_becomes_a_text() -> None:
    assert as_block("a", "say") == v2.TextContent(text="a")


@pytest.mark.parametrize("content", [None, 5, b"a", ["a"], ENTRY])
def test_what_is_neither_text_nor_block_is_refused(content: Any) -> None:
    kind = type(content).__name__
    with pytest.raises(TypeError, match=f"^say takes text or a content block, not {kind}$"):
        as_block(content, "say")


def test_anything_that_can_be_gone_through_is_a_list() -> None:
    assert as_list((each for each in (ENTRY, ENTRY)), "plan", "entries", v2.PlanEntry) == [
        ENTRY,
        ENTRY,
    ]
    assert as_list((), "plan", "entries", v2.PlanEntry) == []
    either: list[Any] = [ENTRY, "Look"]
    assert as_list(either, "plan", "entries", v2.PlanEntry, str) == either


@pytest.mark.parametrize("values", ["Look", b"Look", 5, ENTRY])
def test_one_value_is_no_list(values: Any) -> None:
    kind = type(values).__name__
    with pytest.raises(TypeError, match=f"^plan takes a list of entries, not {kind}$"):
        as_list(values, "plan", "entries", v2.PlanEntry, str)


def test_each_value_of_a_list_is_looked_at() -> None:
    mixed: list[Any] = [ENTRY, 5]
    with pytest.raises(TypeError, match=r"^plan takes a list of entries, not of int$"):
        as_list(mixed, "plan", "entries", v2.PlanEntry)


def test_text_is_text() -> None:
    check_text("", "a title")
    with pytest.raises(TypeError, match=r"^a title is text, not bytes$"):
        check_text(b"Look", "a title")
