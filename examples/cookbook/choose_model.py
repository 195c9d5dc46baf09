"""Choose the model or the mode of a session."""

import asyncio

import parley
from parley import Agent, Turn
from parley.schema import v2

agent = Agent("two models")
model = agent.option("model", {"small": "Small", "large": "Large"}, category="model")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"The {turn.option(model)} model answers.")


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        for option in session.transcript.config_options:
            match option:
                case v2.SessionConfigSelect(config_id=id, current_value=value):
                    print(f"{id} is {value}")
                case _:
                    pass
        print(await session.ask("Hello"))
        await session.set_config_option("model", "large")
        print(await session.ask("Hello"))
        try:
            await session.set_config_option("model", "huge")
        except parley.OptionRefused as error:
            print(error)


asyncio.run(main())
