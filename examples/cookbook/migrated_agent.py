"""An agent that was written with the official Python SDK, moved to Parley."""

from parley import Agent, Turn

agent = Agent("janitor", version="1.0")


@agent.prompt
async def reply(turn: Turn) -> None:
    async with turn.tool(f"Delete {turn.text}", kind="delete") as call:
        is_allowed = await turn.ask_permission(tool=call) == "allow"
    await turn.say(f"{turn.text} is {'deleted' if is_allowed else 'still there'}.")


if __name__ == "__main__":
    agent.run()
