"""Stop a prompt that takes too long."""

import asyncio

import parley

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        try:
            async with asyncio.timeout(0.5):
                print(await session.ask("slow"))
        except TimeoutError:
            print("cancelled after half a second")
        print(await session.ask("The session still works"))


asyncio.run(main())
