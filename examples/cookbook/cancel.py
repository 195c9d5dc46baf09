"""Stop an agent while it works."""

import asyncio

import parley

AGENT = "parley demo"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session()
        turn = session.prompt("slow")
        async for text in turn.text_stream():
            print("agent:", text)
            await turn.cancel()
        result = await turn
        print("stop reason:", result.stop_reason)


asyncio.run(main())
