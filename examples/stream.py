"""A client that shows what the agent does while it does it.

`python examples/stream.py "What is here?" "opencode acp"` shows another one.
"""

import asyncio
import sys

import parley
from parley.schema import v2


async def main(prompt: str, target: str) -> None:
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        turn = session.prompt(prompt)
        async for update in turn:
            match update:
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    print(text, end="", flush=True)
                case v2.ToolCallUpdated(tool_call_id=id):
                    call = session.transcript.tool_calls[id]
                    print(f"[{call.status}] {call.title}")
                case v2.PlanUpdate(plan=v2.PlanItems(entries=entries)):
                    print("plan:", ", ".join(entry.content for entry in entries))
                case _:
                    pass
        result = await turn
        print(f"\n{agent.info.name} stopped: {result.stop_reason}")


if __name__ == "__main__":
    prompt, target, *_ = [*sys.argv[1:], *("tool", "parley demo")[len(sys.argv) - 1 :]]
    asyncio.run(main(prompt, target))
