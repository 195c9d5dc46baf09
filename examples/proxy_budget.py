"""A session is stopped when it has cost too much."""

import asyncio

import parley
from parley import Agent, Conductor, Turn
from parley.errors import BudgetSpent
from parley.proxy import builtin
from parley.schema import v2

agent = Agent("dear")


@agent.prompt
async def reply(turn: Turn) -> None:
    for cents in range(10, 200, 50):
        await turn.session.usage(1000, 200_000, v2.Cost(amount=cents / 100, currency="EUR"))
        await turn.say(f"{cents} ")
        await asyncio.sleep(0.05)


async def main() -> None:
    chain = Conductor(builtin.budget(cost=1), agent=agent)
    async with parley.connect(chain) as client:
        session = await client.new_session()
        turn = session.prompt("Think hard.")
        async for update in turn:
            if isinstance(update, v2.Notice):
                print(update.title)
        print("the turn:", (await turn).stop_reason)
        try:
            await session.ask("And now?")
        except BudgetSpent as refused:
            print("refused:", refused.message)


if __name__ == "__main__":
    asyncio.run(main())
