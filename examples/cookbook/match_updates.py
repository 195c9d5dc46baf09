"""Handle each kind of update with `match`."""

import asyncio

import parley
from parley.schema import v2

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        async for update in session.prompt("diff"):
            match update:
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    print("text:", text)
                case v2.AgentThoughtChunk(content=v2.TextContent(text=text)):
                    print("thought:", text)
                case v2.ToolCallUpdated(tool_call_id=id):
                    call = session.transcript.tool_calls[id]
                    print("tool call:", call.title, call.status)
                case v2.PlanUpdate(plan=v2.PlanItems(entries=entries)):
                    print("plan:", [entry.content for entry in entries])
                case _:
                    pass  # usage, commands, titles, and kinds that a later version adds


asyncio.run(main())
