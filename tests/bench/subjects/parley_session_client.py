"""The client under test, on the whole of Parley: `connect`, a session, a loop over its updates.

Starts the agent command, has it say things, prints what that cost as JSON. Every update is folded
into the session's transcript. With `--journal`, every frame is also recorded in a SQLite file, as
`parley run` and `parley chat` do, with a secret to look for; the cost is that of all threads, until
the turn is on disk and in the search index.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from parley import connect
from parley.client import Process, Session
from parley.journal import SqliteJournal
from parley.schema import v2

Figures = dict[str, float]


SECRET = {"ANTHROPIC_API_KEY": "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"}


async def flood(session: Session, count: int, journal: SqliteJournal | None) -> Figures:
    seen, disordered, last = 0, 0, ""
    cpu, wall = time.process_time(), time.perf_counter()
    async for update in session.prompt(f"updates {count}"):
        if isinstance(update, v2.AgentMessageChunk):
            assert isinstance(update.content, v2.TextContent)
            text = update.content.text
            if text <= last:
                disordered += 1
            last = text
            seen += 1
    if journal is not None:
        journal.search("zzabsent")  # waits for the index
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    message = session.transcript.last_message()
    assert message is not None
    assert seen == len(message.content) == count
    return {"cpu": cpu / count, "wall": wall / count, "disordered": disordered}


async def run(options: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "journal.db") if options.journal else None
        figures = await talk(options, journal)
        if journal is not None:
            await journal.aclose()
    return figures


async def talk(options: argparse.Namespace, journal: SqliteJournal | None) -> Figures:
    env = {**os.environ, **SECRET}
    async with connect(
        options.agent, versions=(options.version,), process=Process(env=env), journal=journal
    ) as connection:
        session = await connection.new_session()
        await flood(session, options.warm_up, journal)
        figures = await flood(session, options.count, journal)
        await session.prompt("report")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--journal", action="store_true")
    parser.add_argument("work", choices=["session"])
    parser.add_argument("count", type=int)
    parser.add_argument("agent", nargs="+")
    options = parser.parse_args()
    sys.stdout.write(json.dumps(asyncio.run(run(options))))


if __name__ == "__main__":
    main()
