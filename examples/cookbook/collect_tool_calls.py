"""List what an agent did: its tool calls, with their results and the files that they touched."""

import asyncio

import parley

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd="/tmp") as agent:
        session = await agent.new_session()
        for prompt in ("tool", "diff"):
            await session.prompt(prompt)
        for call in session.transcript.tool_calls.values():
            print(f"{call.kind}: {call.title} ({call.status})")
            print("  result:", call.raw_output)
            print("  files:", [location.path for location in call.locations])


asyncio.run(main())
