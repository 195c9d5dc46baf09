"""The agent is in a container, where the project is called /work."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Agent, Conductor, Turn
from parley.proxy import builtin

agent = Agent("inside")


@agent.prompt
async def reply(turn: Turn) -> None:
    async with turn.tool("Look", kind="read", locations=[f"{turn.session.cwd}/notes.txt"]):
        await turn.say(f"I work in {turn.session.cwd}")


async def main(directory: Path) -> None:
    chain = Conductor(builtin.rename_paths((str(directory), "/work")), agent=agent)
    async with parley.connect(chain, directory) as client:
        session = await client.new_session()
        print(await session.ask("Where are you?"))
        [call] = session.transcript.tool_calls.values()
        print("and looks at", Path(call.locations[0].path).relative_to(directory))


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory)))
