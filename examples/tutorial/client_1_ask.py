import asyncio
import sys

import parley


async def main(prompt: str, target: str) -> None:
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        print(await session.ask(prompt))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
