"""An agent with tools: it reads a file, shows a change, asks, and writes the file in capitals."""

import asyncio
from pathlib import Path

from parley import Agent, ResourceNotFound, Turn

agent = Agent("loud", title="Loud", version="1.0")
STEPS = ["Read the file", "Change it"]


@agent.prompt
async def reply(turn: Turn) -> None:
    path = Path(turn.session.cwd, turn.text.strip())
    await turn.plan(STEPS, done=0)
    async with turn.tool(f"Read {path.name}", kind="read", locations=[str(path)]) as call:
        try:
            old = await asyncio.to_thread(path.read_text)
        except FileNotFoundError:
            raise ResourceNotFound(f"There is no file {path.name}") from None
        await call.result({"characters": len(old)})

    await turn.plan(STEPS, done=1)
    async with turn.tool(f"Edit {path.name}", kind="edit", locations=[str(path)]) as call:
        new = old.upper()
        await call.diff(str(path), old, new)
        if await turn.ask_permission(tool=call) != "allow":
            await turn.say("Then it stays as it is.")
            return
        await asyncio.to_thread(path.write_text, new)

    await turn.plan(STEPS, done=2)
    await turn.say(f"{path.name} is loud now.")


if __name__ == "__main__":
    agent.run()
