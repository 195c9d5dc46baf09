"""A conversation is recorded by a proxy, and played in place of the agent by another."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Conductor
from parley.proxy import builtin

AGENT = [sys.executable, "-m", "parley", "demo"]


async def talk(chain: Conductor) -> str:
    async with parley.connect(chain) as client:
        session = await client.new_session()
        return await session.ask("tool")


async def main(path: Path) -> None:
    print("recorded:", await talk(Conductor(builtin.record(path), agent=AGENT)))
    print("played:", await talk(Conductor(builtin.replay(path), agent=AGENT)))


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        path = Path(directory) / "session.jsonl"
        asyncio.run(main(path))
        print("lines:", len(path.read_text().splitlines()))
