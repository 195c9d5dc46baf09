"""Options and forms of an agent have the types that the program declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, assert_type

from parley.agent import Agent, AgentSession, ConfigOption, Turn

agent = Agent("typed")
model = agent.option("model", {"fast": "Fast", "good": "Good"}, default="good")
verbose = agent.option("verbose", bool, default=True)
assert_type(model, ConfigOption[str])
assert_type(verbose, ConfigOption[bool])


@dataclass
class Coat:
    size: Literal["S", "M", "L"]


@model.on_change
async def load(session: AgentSession, value: str) -> None: ...


@agent.command("review", description="Review a file")
async def review(turn: Turn, argument: str) -> None:
    assert_type(turn.option(model), str)
    assert_type(turn.session.option(verbose), bool)
    assert_type(turn.option("model"), str | bool)


@agent.prompt
async def reply(turn: Turn) -> None:
    assert_type(await turn.ask_form("What?", Coat), Coat | None)
    assert_type(await turn.ask_form("Sure?", bool), bool | None)
    size: Any = await turn.ask_form("Which?", Literal["S", "M"])
    await turn.say(str(size))
