import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from parley import Agent, ResourceNotFound, Turn

TYPOS = {"recieve": "receive", "teh": "the"}

agent = Agent("proofreader")


async def review(text: str, typos: dict[str, str]) -> AsyncIterator[str]:
    """Yield remarks one by one, as a model would."""
    for number, line in enumerate(text.splitlines(), start=1):
        await asyncio.sleep(0.1)
        for wrong, right in typos.items():
            if wrong in line:
                yield f"Line {number}: {wrong} should be {right}.\n"


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
    try:
        async for remark in review(text, TYPOS):
            await turn.say(remark)
    except asyncio.CancelledError:
        await turn.say("I stopped before the end of the file.")
        raise


if __name__ == "__main__":
    agent.run()
