"""An agent for the recipes: it logs what it does. Whatever it prints goes to stderr, too."""

import logging

from parley import Agent, Turn

logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
logger = logging.getLogger("chatty")
agent = Agent("chatty")


@agent.prompt
async def reply(turn: Turn) -> None:
    logger.info("prompt of %d characters", len(turn.text))
    print("printed, and not in the way")
    await turn.say("Done.")


if __name__ == "__main__":
    agent.run()
