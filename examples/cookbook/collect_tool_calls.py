"""List what an agent did: its tool calls, and the files that they changed."""

import asyncio

import parley
from parley.schema import v2

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        for prompt in ("tool", "diff"):
            await session.prompt(prompt)
        for call in session.transcript.tool_calls.values():
            print(f"{call.kind}: {call.title} ({call.status})")
            for content in call.content:
                if isinstance(content, v2.Diff):
                    print("  changed:", *(change.path for change in content.changes))


asyncio.run(main())
