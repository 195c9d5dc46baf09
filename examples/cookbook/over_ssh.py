"""Use an agent on another machine, over SSH."""

import asyncio
import sys

import parley


async def main(host: str) -> None:
    target = ["ssh", "-T", "-o", "BatchMode=yes", host, "parley demo"]
    async with parley.connect(target) as agent:
        session = await agent.new_session("/tmp")  # a directory of the other machine
        print(await session.ask("Hello"))


asyncio.run(main(sys.argv[1]))
