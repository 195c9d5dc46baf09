"""Mistakes in the arguments of a program are reported where they are made."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._validation import (
    as_block,
    as_list,
    check_handler,
    check_text,
    check_type,
)

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
    with pytest.raises(TypeError, match=r"^a title must be a string, not bytes$"):
        check_text(b"Look", "a title")


class Handler:
    """An object that can be called."""

    async def __call__(self, params: int, connection: object) -> None: ...


async def waiting(params: int, connection: object = None) -> None: ...


@pytest.mark.parametrize(
    ("handler", "parameters"),
    [
        (Handler(), ["params", "connection"]),
        (waiting, ["params", "connection"]),
        (waiting, ["params"]),
        (partial(waiting, connection=None), ["params"]),
    ],
    ids=["object", "function", "default", "partial"],
)
def test_a_function_that_takes_the_arguments_is_fine(handler: Any, parameters: list[str]) -> None:
    check_handler(handler, "@agent.request", *parameters, is_async=True)


def test_a_function_whose_signature_is_not_known_is_fine() -> None:
    check_handler(print, "on_update=", "session", "update")
    check_handler(type, "on_update=", "session", "update")


def no_parameters() -> None: ...
def plain(params: int) -> None: ...
async def many(params: int, connection: object, more: int) -> None: ...
async def generating(params: int) -> Any:
    yield params


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (5, "x= takes a function, not int"),
        (plain, "x= takes a coroutine function: define plain with `async def`, without `yield`"),
        (generating, "x= takes a coroutine function: define generating with `async def`"),
        (many, "x= calls its function as many(params), which many("),
    ],
    ids=["number", "plain", "generator", "parameters"],
)
def test_what_cannot_be_called_as_a_handler_is_refused(handler: object, problem: str) -> None:
    with pytest.raises(TypeError) as refused:
        check_handler(handler, "x=", "params", is_async=True)
    assert str(refused.value).startswith(problem)


def test_the_refusal_says_how_the_function_is_called() -> None:
    with pytest.raises(TypeError) as refused:
        check_handler(no_parameters, "permission=", "request", "session")
    assert str(refused.value) == (
        "permission= calls its function as no_parameters(request, session), which "
        "no_parameters() -> 'None' does not accept: too many positional arguments"
    )


def test_a_value_of_another_type_is_refused_and_true_is_not_a_number() -> None:
    check_type(5, "size=", (int, float), "a number")
    for value in ("5", None, True):
        kind = type(value).__name__
        with pytest.raises(TypeError, match=f"^size= must be a number, not {kind}$"):
            check_type(value, "size=", (int, float), "a number")
