"""A client adds to the system prompt of an agent, or replaces it."""

import asyncio

import parley
from parley import Agent, Turn
from parley.agent import AgentFeatures
from parley.schema import v2

OWN = "You are a coding agent."
agent = Agent("obedient", features=AgentFeatures(system_prompt=True, system_prompt_override=True))


@agent.prompt
async def reply(turn: Turn) -> None:
    instructions = [OWN]
    if given := turn.session.system_prompt:
        texts = [each.text for each in given.content if isinstance(each, v2.TextContent)]
        instructions = texts if given.mode == "override" else [OWN, *texts]
    await turn.say(" ".join(instructions))  # a real agent sends them to its model


async def main() -> None:
    brief: list[v2.ContentBlock] = [v2.TextContent(text="Answer in one sentence.")]
    async with parley.connect(agent) as client:
        print(await (await client.new_session()).ask("Hello"))
        for mode in ("append", "override"):
            system_prompt = v2.SystemPrompt(mode=mode, content=brief)
            session = await client.new_session(system_prompt=system_prompt)
            print(f"{mode}: {await session.ask('Hello')}")


if __name__ == "__main__":
    asyncio.run(main())
