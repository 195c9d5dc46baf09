"""A proxy that remembers something of each session, and forgets it with the session."""

import asyncio

import parley
from parley import Conductor, Proxy
from parley.proxy import ProxyConnection, Request, Response
from parley.schema import v2
from parley.testing.demo import demo_agent

proxy = Proxy("counter")


@proxy.open_connection
async def begin(connection: ProxyConnection) -> None:
    connection.state["prompts"] = {}


@proxy.from_client("session/prompt")
def count(request: Request) -> None:
    prompts: dict[str, int] = request.connection.state["prompts"]
    number = prompts[request.session_id] = prompts.get(request.session_id, 0) + 1
    request.change(prompt=[v2.TextContent(text=f"({number}) "), *request.params.prompt])


async def forget(request: Request) -> Response:
    reply = await request.forward()
    request.connection.state["prompts"].pop(request.session_id, None)
    return reply


for method in ("session/close", "session/delete"):
    proxy.from_client(method)(forget)


async def main() -> None:
    async with parley.connect(Conductor(proxy, agent=demo_agent())) as client:
        one, two = await client.new_session(), await client.new_session()
        for session in (one, two, one):
            print(await session.ask("Hello"))
        await one.close()


if __name__ == "__main__":
    asyncio.run(main())
