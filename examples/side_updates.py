"""A subagent, a notice, a compaction, and a tool call that the user cancels by itself."""

import asyncio

import parley
from parley import Agent, Turn
from parley.schema import v2

agent = Agent("busy")


@agent.prompt
async def work(turn: Turn) -> None:
    async with turn.session.subagent("Explore") as explorer:
        await explorer.session.say("There are two files.")
    async with turn.session.compaction():
        pass  # shorten what the model is sent
    await turn.session.notice("The context was compacted", severity="info")
    async with turn.tool("Build everything", is_cancellable=True):
        await asyncio.Event().wait()
    await turn.say("I have not built it.")


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        async for update in session.prompt("Go"):
            match update:
                case v2.Notice(title=title):
                    print("notice:", title)
                case v2.ToolCallUpdated(tool_call_id=call_id, status="in_progress"):
                    await session.cancel_tool_call(call_id)
                case v2.ToolCallUpdated(status="cancelled"):
                    print("cancelled: the build, and the turn continues")
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    print(text)
                case _:
                    pass
        print("subagents:", [each.title for each in session.transcript.subagents.values()])


if __name__ == "__main__":
    asyncio.run(main())
