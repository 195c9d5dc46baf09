"""A method that the protocol does not have, typed on both sides."""

import asyncio

from msgspec import Struct

import parley
from parley import Agent, Turn
from parley.agent import AgentConnection

agent = Agent("weather")


class Place(Struct):
    city: str


class Forecast(Struct):
    degrees: int
    sky: str


@agent.request("_example.com/forecast")
async def forecast(params: Place, connection: AgentConnection) -> Forecast:
    return Forecast(degrees=21, sky=f"clear over {params.city}")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say("Call _example.com/forecast.")


async def main() -> None:
    async with parley.connect(agent) as client:
        print(await client.request("_example.com/forecast", Place(city="Bern"), Forecast))
        try:
            await client.request("_example.com/forecast", {"town": "Bern"}, Forecast)
        except parley.InvalidParams as error:
            print(error.data)


asyncio.run(main())
