"""What `think` returns is of the type that was asked for."""

from __future__ import annotations

from typing import assert_type

import parley
from parley.client import Connection


class Word:
    text: str


def note(word: str) -> None: ...


async def check(connection: Connection) -> None:
    assert_type(await parley.think("agent", "Say something"), str)
    assert_type(await parley.think("agent", "Find a word", result=Word, tools=[note]), Word)
    assert_type(await parley.think(connection, "Find numbers", result=list[int]), list[int])
