"""Record a conversation with an agent, once, for tests that replay it."""

import asyncio
import sys

import parley
from parley.testing import Recorder

AGENT = "parley demo"


async def main(path: str) -> None:
    recorder = Recorder()
    async with parley.connect(AGENT, cwd="/tmp", observer=recorder) as agent:
        session = await agent.new_session()
        await session.prompt("tool")
        await session.prompt("diff")
    recorder.save(path)
    print("frames:", len(recorder.messages()))


asyncio.run(main(sys.argv[1]))
