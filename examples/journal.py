"""Every session is written down, and found again by what was said in it."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley.journal import SqliteJournal

AGENT = [sys.executable, "-m", "parley", "demo"]


async def talk(path: Path) -> None:
    journal = SqliteJournal(path)  # without a path: the user's own
    async with parley.connect(AGENT, journal=journal, name="demo") as agent:
        session = await agent.new_session()
        for prompt in ("Hello", "Where is the walnut?"):
            await session.ask(prompt)  # when this returns, it is on the disk
    await journal.aclose()


async def look(path: Path) -> None:
    journal = SqliteJournal(path)
    for hit in journal.search("wal"):
        text = hit.text.replace("\2", "[").replace("\3", "]")
        print(hit.record.agent, hit.record.title, text, sep=" | ")
    [kept] = journal.list(agent="demo", limit=1)
    methods = [entry.kind for entry in journal.entries(kept.key)]
    print(f"{kept.title}: {methods.count('to_agent')} frames to the agent")
    journal.prune(max_age=90 * 86400, max_sessions=1000)
    journal.delete(kept.key)
    await journal.commit()
    print("left:", journal.list())
    await journal.aclose()


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        path = Path(directory) / "journal.db"
        asyncio.run(talk(path))
        asyncio.run(look(path))
