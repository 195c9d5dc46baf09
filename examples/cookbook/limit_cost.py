"""Stop a session that takes too long or costs too much."""

import asyncio

import parley
from parley import Agent, Conductor, Turn
from parley.errors import BudgetSpent
from parley.proxy import builtin
from parley.schema import v2

agent = Agent("expensive")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.session.usage(1000, 200_000, v2.Cost(amount=1.25, currency="USD"))
    await asyncio.Event().wait()  # works for ever


async def main() -> None:
    limited = Conductor(builtin.budget(cost=1), agent=agent)
    async with asyncio.timeout(600), parley.connect(limited) as client:
        session = await client.new_session()
        result = await session.prompt("Think hard")
        print("stop reason:", result.stop_reason)
        try:
            await session.prompt("Think again")
        except BudgetSpent as error:
            print(error.message)


asyncio.run(main())
