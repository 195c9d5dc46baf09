"""A complete agent: it finds typos, and corrects them if the user agrees."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from parley import Agent, ResourceNotFound, Turn
from parley.agent.journal_store import JournalStore

TYPOS = {"recieve": "receive", "teh": "the"}

agent = Agent("proofreader", title="Proofreader", version="1.0", store=JournalStore())
mode = agent.option("mode", {"correct": "Correct", "review": "Review"}, category="mode")


@dataclass
class Correction:
    wrong: str
    right: str


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


async def correct(turn: Turn, path: Path, text: str, typos: dict[str, str]) -> None:
    corrected = text
    for wrong, right in typos.items():
        corrected = corrected.replace(wrong, right)
    async with turn.tool(f"Edit {path.name}", kind="edit", locations=[str(path)]) as call:
        await call.diff(str(path), text, corrected)
        is_allowed = await turn.ask_permission(tool=call) == "allow"
        if is_allowed:
            await asyncio.to_thread(path.write_text, corrected)
    await turn.say(f"I corrected {path.name}." if is_allowed else "I left the file as it is.")


@agent.command("teach", hint="WRONG RIGHT")
async def teach(turn: Turn, argument: str) -> None:
    """Teach the proofreader a correction."""
    match argument.split():
        case [wrong, right]:
            learned: Correction | None = Correction(wrong, right)
        case _:
            learned = await turn.ask_form("What should I correct?", Correction)
    if learned is None:
        return
    turn.session.data[learned.wrong] = learned.right
    await turn.say(f"From now on, {learned.wrong} should be {learned.right}.")


@agent.prompt
async def reply(turn: Turn) -> None:
    path = Path(turn.session.cwd, turn.text.strip())
    typos = TYPOS | turn.session.data
    await turn.session.set_title(f"Review of {path.name}")
    text = await read(turn, path)
    try:
        async for remark in review(text, typos):
            await turn.say(remark)
    except asyncio.CancelledError:
        await turn.say("I stopped before the end of the file.")
        raise
    if not any(wrong in text for wrong in typos):
        await turn.say("I found no typos.")
    elif turn.option(mode) == "correct":
        await correct(turn, path, text, typos)


if __name__ == "__main__":
    agent.run()
