"""Whatever passes is kept in a journal, whoever the client is."""

import asyncio
import sys

import parley
from parley import Conductor
from parley.journal import MemoryJournal
from parley.proxy import builtin
from parley.session.frame_replay import transcript_from_frames

AGENT = [sys.executable, "-m", "parley", "demo"]


async def main() -> None:
    journal = MemoryJournal()
    chain = Conductor(builtin.log(journal, agent="demo"), agent=AGENT)
    async with parley.connect(chain) as client:
        session = await client.new_session()
        await session.ask("Hello")
    for kept in journal.list():
        said = transcript_from_frames(journal.entries(kept.key))
        print(kept.agent, kept.title, [message.text for message in said.messages])


if __name__ == "__main__":
    asyncio.run(main())
