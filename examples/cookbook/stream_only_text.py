"""Print the agent's text as it arrives, and nothing else."""

import asyncio

import parley

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        async for text in session.prompt("Hello").text_stream():
            print(text, end="", flush=True)
        print()


asyncio.run(main())
