"""An agent on the network, and clients that reach it by its address and a token."""

import asyncio
import secrets

from parley import Agent, Remote, Turn, Unauthorized, connect
from parley.gateway import Access, serve

agent = Agent("remote")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"From afar: {turn.text}")


async def main() -> None:
    token = secrets.token_urlsafe(32)
    async with serve(agent, "127.0.0.1:0", access=Access({token: "ann"})) as serving:
        for scheme in ("http", "ws"):
            url = serving.url.replace("http", scheme, 1)
            async with connect(url, remote=Remote(token=token)) as remote:
                session = await remote.new_session()
                print(f"{scheme}: {await session.ask('Hello')}")
        try:
            async with connect(serving.url, remote=Remote(token="guessed")):
                print("never")
        except Unauthorized:
            print("the guessed token was rejected")


if __name__ == "__main__":
    asyncio.run(main())
