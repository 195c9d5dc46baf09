"""An agent that says which event loop it runs on."""

import asyncio

from parley import Agent, Turn

agent = Agent("loop")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(type(asyncio.get_running_loop()).__module__)


if __name__ == "__main__":
    agent.run()
