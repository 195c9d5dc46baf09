from parley import Agent, Turn

agent = Agent("proofreader")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


if __name__ == "__main__":
    agent.run()
