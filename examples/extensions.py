"""Methods of your own, in both directions, announced in `_meta` of the capabilities."""

import asyncio
from typing import Any

from msgspec import Struct

import parley
from parley import Agent, Turn
from parley.agent import AgentConnection, AgentFeatures
from parley.errors import MethodNotFound

agent = Agent("counter", features=AgentFeatures(meta={"example.com": {"add": True}}))


class Add(Struct):
    left: int
    right: int


@agent.request("_example.com/add")
async def add(params: Add, connection: AgentConnection) -> int:
    await connection.notify("_example.com/log", {"text": "adding"})
    return params.left + params.right


@agent.prompt
async def reply(turn: Turn) -> None:
    try:
        whom = await turn.session.connection.request("_example.com/name")
    except MethodNotFound:
        whom = "stranger"
    await turn.say(f"Hello {whom}")


def log(params: dict[str, Any]) -> None:
    print("log:", params["text"])


def name(params: Any) -> str:
    return "Ada"


async def main() -> None:
    extensions = {"_example.com/log": log, "_example.com/name": name}
    async with parley.connect(agent, extensions=extensions) as client:
        print("the agent adds:", client.features.meta)
        print(await client.request("_example.com/add", {"left": 2, "right": 3}, int))
        session = await client.new_session()
        print(await session.ask("Hi"))
        try:
            await client.request("_example.com/add", {"left": "two"})
        except parley.InvalidParams as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main())
