"""Write Parley's log, the agent's stderr and every message to files."""

import asyncio
import logging
import tempfile
from pathlib import Path

import parley
from parley import Process
from parley.testing import Recorder

AGENT = "python examples/cookbook/chatty_agent.py"


async def main(folder: Path) -> None:
    logging.basicConfig(filename=folder / "client.log", level=logging.INFO)
    recorder = Recorder()
    with (folder / "agent.log").open("wb") as log:
        process = Process(on_stderr=log.write)
        async with parley.connect(AGENT, process=process, observer=recorder) as agent:
            await (await agent.new_session()).prompt("Hello")
    recorder.save(folder / "messages.jsonl")


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    asyncio.run(main(folder))
    print((folder / "agent.log").read_text(), end="")
    print("messages:", len((folder / "messages.jsonl").read_text().splitlines()))
