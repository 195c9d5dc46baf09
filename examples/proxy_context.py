"""AGENTS.md goes with the first prompt of a session, to an agent that does not read it."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Agent, Conductor, Turn
from parley.proxy import builtin

agent = Agent("listener")


@agent.prompt
async def reply(turn: Turn) -> None:
    blocks = [block for block in turn.prompt if hasattr(block, "text")]
    await turn.say(f"{len(blocks)}: ...{turn.text[-20:]!r}")


async def main(directory: Path) -> None:
    (directory / "AGENTS.md").write_text("Be kind.\n")
    chain = Conductor(builtin.context("AGENTS.md", max_bytes=4096), agent=agent)
    async with parley.connect(chain, directory) as client:
        session = await client.new_session()
        print(await session.ask("Hello"))
        print(await session.ask("Hello again, as before"))


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory)))
