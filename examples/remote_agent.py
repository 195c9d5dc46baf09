"""An agent that serves the network instead of stdin and stdout."""

import sys

from parley import Agent, Turn

agent = Agent("remote")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"From afar: {turn.text}")


if __name__ == "__main__":
    agent.run(http=sys.argv[1] if sys.argv[1:] else "127.0.0.1:7400")
