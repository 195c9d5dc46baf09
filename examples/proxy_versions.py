"""A client of version 2 talks to an agent of version 1, and the other way round."""

import asyncio

import parley
from parley import Agent, Conductor, Proxy, Turn
from parley.proxy import Request, builtin

agent = Agent("polyglot")
below = Proxy("witness")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


@below.from_client("session/prompt")
def see(request: Request) -> None:
    print(f"version {request.version} arrives at the agent")


async def main() -> None:
    for mine, its in ((2, 1), (1, 2)):
        chain = Conductor(builtin.versions(agent=(its,)), below, agent=agent)
        async with parley.connect(chain, versions=(mine,)) as client:
            session = await client.new_session()
            print(f"version {mine} hears:", await session.ask("Hello"))


if __name__ == "__main__":
    asyncio.run(main())
