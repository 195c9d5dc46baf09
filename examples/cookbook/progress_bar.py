"""Show a progress bar that follows the agent's plan."""

import asyncio

import parley
from parley.schema import v2

AGENT = "parley demo"


def show(entries: list[v2.PlanEntry]) -> None:
    done = sum(entry.status == "completed" for entry in entries)
    now = next((entry.content for entry in entries if entry.status == "in_progress"), "")
    bar = "#" * done + "." * (len(entries) - done)
    print(f"[{bar}] {done}/{len(entries)} {now}".rstrip())


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        async for update in session.prompt("plan"):
            match update:
                case v2.PlanUpdate(plan=v2.PlanItems(entries=entries)):
                    show(entries)
                case _:
                    pass


asyncio.run(main())
