"""A conversation is recorded once, and played again without the agent."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley.export import to_jsonl
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.session.frame_replay import transcript_from_frames
from parley.testing import Replay

AGENT = [sys.executable, "-m", "parley", "demo"]


async def record() -> bytes:
    journal = MemoryJournal()
    async with parley.connect(AGENT, journal=journal) as agent:
        session = await agent.new_session()
        for prompt in ("tool", "Hello"):
            await session.ask(prompt)
    [kept] = journal.list()
    said = transcript_from_frames(journal.entries(kept.key))
    print("recorded:", [message.text for message in said.messages])
    return to_jsonl(journal.entries(kept.key))


async def play(path: Path) -> None:
    replay = Replay.load(path, speed=100)  # as fast as the agent was, times 100
    async with parley.connect(replay) as agent:
        session = await agent.new_session()
        for prompt in replay.prompts:
            async for update in session.prompt(*prompt):
                match update:
                    case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                        print("played:", text)
                    case _:
                        pass


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        path = Path(directory) / "session.jsonl"
        path.write_bytes(asyncio.run(record()))
        asyncio.run(play(path))
