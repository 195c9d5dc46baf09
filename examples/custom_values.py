"""Values of your own: a kind of tool call, a content block and an update that no protocol has."""

import asyncio

import parley
from parley import Agent, Turn
from parley.errors import LocalProtocolError
from parley.schema import Unknown, v2

agent = Agent("weather")


@agent.prompt
async def forecast(turn: Turn) -> None:
    async with turn.tool("Ask the station", kind="_example.com/measure") as call:
        await call.add(Unknown.of("type", "_example.com/chart", points=[3, 5, 4]))
    await turn.update(Unknown.of("sessionUpdate", "_example.com/alert", level=2))
    try:
        await turn.session.notice("It will rain", severity="urgent")
    except LocalProtocolError as error:
        await turn.say(str(error))


async def main() -> None:
    # A client of version 2 gets them as they are; one of version 1 gets what it knows.
    async with parley.connect(agent) as client:
        session = await client.new_session()
        async for update in session.prompt("What will the weather be?"):
            match update:
                case v2.ToolCallUpdated(kind=str(kind)):
                    print("kind:", kind)
                case v2.ToolCallContentChunk(content=Unknown() as chart):
                    print("content:", chart.payload)
                case Unknown(tag):
                    print("update:", tag, update.payload["level"])
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    print(text)
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main())
