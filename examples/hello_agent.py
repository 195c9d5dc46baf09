"""An agent in ten lines: it repeats what it hears."""

from parley import Agent, Turn

agent = Agent("hello")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


if __name__ == "__main__":
    agent.run()
