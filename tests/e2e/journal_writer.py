"""Appends to a journal for ever and prints each number once it is committed."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from parley.errors import JournalError
from parley.journal import Record, SqliteJournal


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def main(path: str, *keys: str) -> None:
    journal = SqliteJournal(path)
    for key in keys:
        if journal.get(key) is None:
            journal.put(Record(key=key, agent="demo", session_id=key))
    number = max((int(entry.data) for entry in journal.entries(keys[0])), default=0)
    say("ready")
    while True:
        for _ in range(1 + number % 5):
            number += 1
            for key in keys:
                journal.append(key, "note", b"%d" % number)
        try:
            await journal.commit()
        except JournalError as problem:
            say(f"failed: {problem}")
            return
        say(number)


if __name__ == "__main__":
    if Path(sys.argv[1]).name == "small.db":
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    asyncio.run(main(*sys.argv[1:]))
