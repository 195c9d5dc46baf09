import asyncio
import sys

import parley
from parley import Session
from parley.schema import v2


def show(update: v2.SessionUpdate, session: Session) -> None:
    match update:
        case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
            print(text, end="", flush=True)
        case v2.ToolCallUpdated(tool_call_id=id):
            call = session.transcript.tool_calls[id]
            print(f"[{call.status}] {call.title}")
        case _:
            pass


async def main(prompt: str, target: str) -> None:
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        turn = session.prompt(prompt)
        async for update in turn:
            show(update, session)
        result = await turn
        print(f"\nstopped: {result.stop_reason}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
