"""An agent with tools: it reads a file, shows a change, asks, and writes the file in capitals."""

import asyncio
from pathlib import Path

from parley import ResourceNotFound
from parley.agent import Agent, Turn
from parley.schema import v2

agent = Agent("loud", title="Loud", version="1.0")


def steps(done: int) -> list[v2.PlanEntry]:
    return [
        v2.PlanEntry(
            content=text,
            priority="medium",
            status="completed" if place < done else "in_progress" if place == done else "pending",
        )
        for place, text in enumerate(("Read the file", "Change it"))
    ]


@agent.prompt
async def reply(turn: Turn) -> None:
    path = Path(turn.session.cwd, turn.text.strip())
    await turn.plan(steps(0))
    async with turn.tool(f"Read {path.name}", kind="read", locations=[str(path)]) as call:
        try:
            old = await asyncio.to_thread(path.read_text)
        except FileNotFoundError:
            raise ResourceNotFound(f"There is no file {path.name}") from None
        await call.result({"characters": len(old)})

    await turn.plan(steps(1))
    async with turn.tool(f"Edit {path.name}", kind="edit", locations=[str(path)]) as call:
        new = old.upper()
        await call.diff(str(path), old, new)
        if await turn.ask_permission(tool=call) != "allow":
            await turn.say("Then it stays as it is.")
            return
        await asyncio.to_thread(path.write_text, new)

    await turn.plan(steps(2))
    await turn.say(f"{path.name} is loud now.")


if __name__ == "__main__":
    agent.run()
