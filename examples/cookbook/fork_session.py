"""Try two ways to continue one conversation."""

import asyncio

import parley
from parley import Agent, Turn
from parley.agent import AgentFeatures

agent = Agent("historian", features=AgentFeatures(fork=True))


@agent.prompt
async def reply(turn: Turn) -> None:
    prompts = [each.text for each in turn.session.transcript.messages if each.role == "user"]
    await turn.say(f"I know: {', '.join(prompts)}")


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        await session.prompt("Read the bug report")
        fork = await client.fork_session(session.id)
        print("original:", await session.ask("Fix it with a lock"))
        print("fork:", await fork.ask("Fix it with a queue"))


asyncio.run(main())
