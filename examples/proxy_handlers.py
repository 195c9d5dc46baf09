"""What a handler can do: wait for the answer, ask by itself, hold back, change, answer."""

import asyncio
from typing import Any

import parley
from parley import Agent, Conductor, Proxy, Turn
from parley.proxy import Notification, Request, Response
from parley.schema import v2

proxy = Proxy("guide")


@proxy.from_client("session/new")
async def begin(request: Request) -> Response:
    reply = await request.forward()
    session_id = reply.result.session_id
    said = await request.connection.ask(session_id, "Who are you?")
    await request.connection.update(session_id, v2.SessionInfoUpdate(title=said))
    return reply


@proxy.from_agent("session/update")
def say_less(note: Notification) -> None:
    if note.kind == "agent_thought_chunk":
        note.drop()
    elif isinstance(note.update, v2.AgentMessageChunk):
        content = note.update.content
        if isinstance(content, v2.TextContent):
            note.change(content=v2.TextContent(text=content.text.upper()))


@proxy.from_client("_guide/ping")
def ping(request: Request) -> dict[str, Any]:
    return {"pong": request.version}


agent = Agent("thinker")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.think("Let me see.")
    await turn.say(f"You said: {turn.text}")


async def main() -> None:
    async with parley.connect(Conductor(proxy, agent=agent)) as client:
        print(await client.request("_guide/ping", {}))
        session = await client.new_session()
        print("answer:", await session.ask("Hello"))
        print("title:", session.transcript.title)
        print("thoughts:", [each.text for each in session.transcript.messages][2:])


if __name__ == "__main__":
    asyncio.run(main())
