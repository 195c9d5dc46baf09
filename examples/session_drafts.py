"""Name, fork and archive sessions, and ask whether one is open (drafts of the protocol)."""

import asyncio

import parley
from parley import Agent, Turn
from parley.agent import AgentFeatures

features = AgentFeatures(fork=True, archive=True, status=True, title=True)
agent = Agent("archivist", features=features)


@agent.prompt
async def reply(turn: Turn) -> None:
    said = [each.text for each in turn.session.transcript.messages if each.role == "user"]
    await turn.say(f"You said: {', '.join(said)}")


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        await session.prompt("one")
        print("title:", await client.set_session_title(session.id, "Counting"))

        fork = await client.fork_session(session.id)
        print("fork:", (await fork.prompt("two")).text)
        print("origin:", (await session.prompt("three")).text)

        print("status:", (await client.session_status(session.id)).status)
        await client.archive_session(session.id)
        print("listed:", [each.title async for each in client.list_sessions()])
        await client.unarchive_session(session.id)
        print("listed:", sorted([str(each.title) async for each in client.list_sessions()]))


if __name__ == "__main__":
    asyncio.run(main())
