"""Misspelled options of the functions that have many of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import parley
from parley._suggestions import suggests_options


@pytest.mark.parametrize(
    ("call", "wrong", "meant"),
    [
        (parley.connect, "polcy", "policy"),
        (parley.serve, "htpp", "http"),
        (parley.Agent, "stroe", "store"),
    ],
    ids=["connect", "serve", "Agent"],
)
def test_a_misspelled_option_is_an_error_that_names_the_right_one(
    call: Callable[..., Any], wrong: str, meant: str
) -> None:
    with pytest.raises(TypeError, match=f"there is no option {wrong}=; did you mean {meant}=?"):
        call("agent", **{wrong: None})


def test_an_option_that_resembles_nothing_lists_all() -> None:
    @suggests_options
    def draw(shape: str, *, color: str = "red", width: int = 1) -> str:
        return f"{shape} {color} {width}"

    assert draw("line", width=2) == draw(shape="line", width=2) == "line red 2"
    wrong: Callable[..., str] = draw
    with pytest.raises(TypeError, match="there is no option xyz=; choose from color, width"):
        wrong("line", xyz=1)


def test_the_signature_stays_visible() -> None:
    assert list(inspect.signature(parley.connect).parameters)[:3] == ["target", "cwd", "process"]
