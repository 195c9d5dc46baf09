"""Forms and what fills them in need no annotations."""

from __future__ import annotations

from typing import assert_type

import parley
from parley.agent import Agent, Turn
from parley.client import Session
from parley.schema import v2

agent = Agent("typed")


@agent.prompt
async def reply(turn: Turn) -> None:
    form = {
        "name": v2.StringPropertySchema(),
        "age": v2.IntegerPropertySchema(minimum=0),
        "tags": v2.MultiSelectPropertySchema(items=v2.StringMultiSelectItems(enum=["a"])),
    }
    answer = await turn.elicit("Who?", form)
    if isinstance(answer, v2.ElicitationAcceptAction):
        await turn.say(str(answer.content))


def decide(request: v2.RequestPermissionRequest, session: Session) -> v2.PermissionOption:
    assert_type(session.transcript.title, str | None)
    return request.options[0]


async def fill_in(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str | int]:
    return {"name": form.message, "age": 36}


async def talk() -> str:
    async with parley.connect(agent, permission=decide, elicit=fill_in) as connection:
        return await (await connection.new_session()).ask("Hello")
