"""A client in a script: ask an agent something and use the answer.

`python examples/ask.py "opencode acp"` asks another one.
"""

import asyncio
import sys

import parley


async def main(target: str) -> None:
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        print(await session.ask("What is in this directory?"))
        print(await session.ask("Say it in one word."))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else "parley demo"))
