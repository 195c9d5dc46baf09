"""A Parley agent that calls the tools of its client; the TypeScript client starts it."""

from __future__ import annotations

from parley import Agent
from parley.agent import Turn
from parley.errors import McpCallFailed

agent = Agent("interop-agent", mcp=True)


@agent.prompt
async def reply(turn: Turn) -> None:
    async def hear(progress: float, total: float | None, message: str | None) -> None:
        await turn.say(f"{message} ")

    mcp = turn.session.mcp
    await turn.say(f"{', '.join([tool.name for tool in await mcp.list_tools()])} ")
    result = await mcp.call_tool("add", {"left": 2, "right": 3}, progress=hear)
    await turn.say(f"{result.content[0].model_dump()['text']} ")
    try:
        await mcp.call_tool("refuse")
    except McpCallFailed as error:
        await turn.say(str(error))


if __name__ == "__main__":
    agent.run()
