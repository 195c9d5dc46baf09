import asyncio
from pathlib import Path

from parley import Agent, ResourceNotFound, Turn

agent = Agent("proofreader")


async def read(turn: Turn, path: Path) -> str:
    async with turn.tool(f"Read {path.name}", kind="read", locations=[str(path)]):
        try:
            return await asyncio.to_thread(path.read_text)
        except FileNotFoundError:
            raise ResourceNotFound(f"There is no file {path.name}") from None


@agent.prompt
async def reply(turn: Turn) -> None:
    path = Path(turn.session.cwd, turn.text.strip())
    text = await read(turn, path)
    await turn.say(f"{path.name} has {len(text.split())} words.")


if __name__ == "__main__":
    agent.run()
