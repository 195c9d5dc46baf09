"""Let an agent read and search the project without asking, and nothing else."""

import asyncio

import parley
from parley import Policy
from parley.policy import Rule

AGENT = "python examples/cookbook/file_agent.py"
RULES = [Rule(decision="allow", kind=["read", "search"], path=".")]


async def main() -> None:
    async with parley.connect(AGENT, cwd=".", policy=Policy(RULES, cwd=".")) as agent:
        session = await agent.new_session()
        for prompt in ("read README.md", "read ../secret.txt", "edit README.md"):
            print(await session.ask(prompt))


asyncio.run(main())
