"""A client that finds a session of yesterday and goes on with it."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley

AGENT = Path(__file__).with_name("notes_agent.py")


async def main(directory: str) -> None:
    target = [sys.executable, str(AGENT), f"{directory}/sessions"]
    async with parley.connect(target, directory) as agent:
        session = await agent.new_session()
        print(await session.ask("Buy milk"))

    async with parley.connect(target, directory) as agent:
        async for info in agent.list_sessions():
            print("found:", info.title)
            session = await agent.resume_session(info.session_id, info.cwd)
            for message in session.transcript.messages:
                print(f"  {message.role}: {message.text}")
            print(await session.ask("Buy bread"))
            await session.close()
            await agent.delete_session(info.session_id)


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        asyncio.run(main(directory))
