"""An agent that asks the user with a form, and a client that fills it in."""

import asyncio
from dataclasses import dataclass
from typing import Literal

import parley
from parley import Agent, Session, Turn
from parley.schema import v2

agent = Agent("release")


@dataclass
class Release:
    version: str
    channel: Literal["stable", "beta"] = "beta"


@agent.prompt
async def reply(turn: Turn) -> None:
    release = await turn.ask_form("What do you want to release?", Release)
    if release is None:
        await turn.say("Nothing is released.")
    else:
        await turn.say(f"Releasing {release.version} to {release.channel}.")


def fill_in(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str]:
    print(form.message, list(form.requested_schema.properties))
    return {"version": "1.2", "channel": "stable"}


async def main() -> None:
    async with parley.connect(agent, elicit=fill_in) as client:
        session = await client.new_session()
        print(await session.ask("Release it"))


asyncio.run(main())
