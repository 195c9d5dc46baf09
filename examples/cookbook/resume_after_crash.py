"""Continue a conversation after the agent has crashed."""

import asyncio
import tempfile

import parley

AGENT = "python examples/cookbook/lasting_agent.py {}/journal.db"


async def main(directory: str) -> None:
    target = AGENT.format(directory)
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        await session.prompt("The word is walnut")
        try:
            await session.prompt("crash")
        except parley.ProcessExited as error:
            print("the agent exited with code", error.code)

    async with parley.connect(target, cwd=".") as agent:
        session = await agent.resume_session(session.id)
        for message in session.transcript.messages:
            print(f"{message.role}: {message.text}")
        print(await session.ask("What is the word?"))


with tempfile.TemporaryDirectory() as directory:
    asyncio.run(main(directory))
