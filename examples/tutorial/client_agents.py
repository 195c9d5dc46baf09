import asyncio
import sys
from pathlib import Path

from parley import Agent, Turn

agent = Agent(sys.argv[1])


async def edit(turn: Turn, path: Path, old: str, new: str) -> None:
    async with turn.tool(f"Edit {path.name}", kind="edit", locations=[str(path)]) as call:
        await call.diff(str(path), old, new)
        if await turn.ask_permission(tool=call) == "allow":
            await asyncio.to_thread(path.write_text, new)


async def delete(turn: Turn, path: Path) -> None:
    async with turn.tool(f"Delete {path.name}", kind="delete", locations=[str(path)]) as call:
        if await turn.ask_permission(tool=call) == "allow":
            await asyncio.to_thread(path.unlink)


@agent.prompt
async def reply(turn: Turn) -> None:
    notes = Path(turn.session.cwd, "notes.md")
    text = await asyncio.to_thread(notes.read_text)
    if agent.name == "bold":
        await edit(turn, notes, text, text.upper())
        await delete(turn, notes.with_name("draft.md"))
        await turn.say("I rewrote the notes, and deleted the draft.")
    else:
        await edit(turn, notes, text, text.replace("recieve", "receive").replace("teh", "the"))
        await turn.say("I corrected two typos.")


if __name__ == "__main__":
    agent.run()
