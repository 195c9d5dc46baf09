"""Both sides in one process: an agent asks the user to fill in a form, which is a Python type."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

import parley
from parley import Agent, Session, Turn
from parley.schema import v2

agent = Agent("tailor")


@dataclass
class Coat:
    size: Annotated[Literal["S", "M", "L"], Meta(title="Size")]
    pockets: Annotated[int, Meta(ge=0, description="Inside and outside")] = 2


@agent.prompt
async def reply(turn: Turn) -> None:
    try:
        coat = await turn.ask_form("What shall it be?", Coat)
    except parley.Unsupported:
        await turn.say("This editor has no forms. Tell me size and pockets in a prompt.")
        return
    if coat is None:
        await turn.say("Some other time, then.")
    else:
        await turn.say(f"A coat in {coat.size} with {coat.pockets} pockets.")


def fill_in(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str | int]:
    for name, field in form.requested_schema.properties.items():
        print(f"{form.message} {name}: {type(field).__name__}")
    return {"size": "M"}  # or "decline", or None for no answer


async def main() -> None:
    async with parley.connect(agent, elicit=fill_in) as client:
        session = await client.new_session()
        print(await session.ask("A coat, please"))
    async with parley.connect(agent) as client:
        session = await client.new_session()
        print(await session.ask("A coat, please"))


if __name__ == "__main__":
    asyncio.run(main())
