"""Write Parley's log, the agent's stderr and every message to files."""

import asyncio
import logging
import tempfile
from pathlib import Path

import parley
from parley import Process
from parley.peer import Direction
from parley.rpc import Frame

AGENT = "python examples/cookbook/chatty_agent.py"


async def main(folder: Path) -> None:
    logging.basicConfig(filename=folder / "client.log", level=logging.INFO)
    with (folder / "agent.log").open("wb") as log, (folder / "messages.log").open("wb") as messages:

        def write(direction: Direction, frame: Frame) -> None:
            messages.write(b"%s %s\n" % (direction.encode(), frame))

        process = Process(on_stderr=log.write)
        async with parley.connect(AGENT, process=process, observer=write) as agent:
            session = await agent.new_session()
            await session.prompt("Hello")


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    asyncio.run(main(folder))
    print((folder / "agent.log").read_text(), end="")
    print("messages:", len((folder / "messages.log").read_text().splitlines()))
