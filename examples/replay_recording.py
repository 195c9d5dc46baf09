"""Talk to a recording instead of the agent: python replay_recording.py demo.

Make one with `parley tap --name demo -- parley demo`.
"""

import asyncio
import sys

import parley


async def main(recording: str) -> None:
    agent = [sys.executable, "-P", "-m", "parley", "replay", recording, "--as", "agent"]
    async with parley.connect(agent) as connection:
        session = await connection.new_session()
        print(await session.ask("Hello"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
