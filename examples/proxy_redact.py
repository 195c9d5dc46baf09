"""Secrets go neither to the agent nor to the client, also when they come in pieces."""

import asyncio

import parley
from parley import Agent, Conductor, Turn
from parley.proxy import builtin

agent = Agent("parrot")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}\n")
    for piece in ("I use gh", "p_0123456789ab", "cdefghij0123", " for this."):
        await turn.say(piece)


async def main() -> None:
    chain = Conductor(builtin.redact("correct-horse"), agent=agent)
    async with parley.connect(chain) as client:
        session = await client.new_session()
        print(await session.ask("It is correct-horse."))


if __name__ == "__main__":
    asyncio.run(main())
