"""A client, a built-in proxy and an agent, joined in one process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.agent import Agent, Turn
from parley.client import Connection
from parley.proxy import Component, Conductor
from parley.transport._target import Target

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def chain(
    *components: Component, agent: Target, version: int, cwd: str | Path = ".", **options: Any
) -> AbstractAsyncContextManager[Connection]:
    """Connect to an agent behind proxies."""
    conductor = Conductor(*components, agent=agent)
    return parley.connect(conductor, cwd, versions=(version,), **options)


def allow(asked: object, session: object) -> str:
    """Be a user who allows everything that a workspace asks."""
    return "allow"


def say_yes(asked: object, session: object) -> str:
    """Be a user who says yes to the demo agent."""
    return "yes"


class Heard(Agent):
    """An agent that keeps what it is prompted with, and says what the test wants."""

    def __init__(self, *says: str) -> None:
        super().__init__("heard")
        self.turns: list[Turn] = []
        self._says: Sequence[str] = says

        @self.prompt
        async def reply(turn: Turn) -> None:
            self.turns.append(turn)
            for text in self._says:
                await turn.say(text)

    @property
    def texts(self) -> list[str]:
        """What the prompts said."""
        return [turn.text for turn in self.turns]
