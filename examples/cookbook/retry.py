"""Try again with a growing pause when an agent is busy or its connection is lost."""

import asyncio

import parley
from parley import Agent, Turn
from parley.errors import Overloaded

BUSY = iter([True, True, False])
agent = Agent("busy at first")


@agent.prompt
async def reply(turn: Turn) -> None:
    if next(BUSY):
        raise Overloaded("Too many requests")
    await turn.say("Here I am.")


async def ask(prompt: str, attempts: int = 5) -> str:
    for attempt in range(1, attempts + 1):
        try:
            async with parley.connect(agent) as client:
                session = await client.new_session()
                return await session.ask(prompt)
        except (Overloaded, parley.ConnectionClosed) as error:
            if attempt == attempts:
                raise
            print(f"attempt {attempt}: {error}")
            await asyncio.sleep(0.1 * 2**attempt)
    raise ValueError("attempts must be a positive number")


print(asyncio.run(ask("Hello")))
