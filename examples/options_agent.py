"""An agent with a mode, a switch and a command, which the user finds in the editor."""

from parley import Agent, InvalidParams, Turn
from parley.agent import AgentSession

agent = Agent("greeter")
tone = agent.option("tone", {"polite": "Polite", "curt": "Curt"}, category="mode")
loud = agent.option("loud", bool)


@tone.on_change
async def change_tone(session: AgentSession, value: str) -> None:
    if value == "curt" and session.option(loud):
        raise InvalidParams("Curt and loud is too much")  # the old value is back
    await session.set_title(f"A {value} conversation")


@agent.command("greet", hint="whom to greet")
async def greet(turn: Turn, argument: str) -> None:
    """Greet somebody."""
    greeting = "Hey" if turn.option(tone) == "curt" else "Good day to you,"
    text = f"{greeting} {argument or 'you'}"
    await turn.say(text.upper() if turn.option(loud) else text)


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say("Try /greet.")


if __name__ == "__main__":
    agent.run()
