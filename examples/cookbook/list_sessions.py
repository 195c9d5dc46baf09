"""List the sessions that an agent keeps, and delete one."""

import asyncio

import parley

AGENT = "python examples/hello_agent.py"


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        for prompt in ("Fix the bug", "Write the tests"):
            session = await agent.new_session()
            await session.prompt(prompt)
            await session.close()
        found = [info async for info in agent.list_sessions()]
        print("sessions:", len(found))
        await agent.delete_session(found[0].session_id)
        print("left:", len([info async for info in agent.list_sessions()]))


asyncio.run(main())
