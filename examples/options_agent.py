"""An agent with a mode, a switch and a command, which the user finds in the editor."""

from parley import Agent, InvalidParams, Turn
from parley.agent import AgentSession
from parley.schema import v2

agent = Agent("greeter")

MODE = v2.SessionConfigSelect(
    config_id="tone",
    name="Tone",
    category="mode",
    current_value="polite",
    options=[
        v2.SessionConfigSelectOption(value="polite", name="Polite"),
        v2.SessionConfigSelectOption(value="curt", name="Curt"),
    ],
)
LOUD = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
HINT = v2.TextCommandInput(hint="whom to greet")
GREET = v2.Command(name="greet", description="Greet somebody", input=HINT)


@agent.open_session
async def prepare(session: AgentSession) -> None:
    if session.origin == "new":  # a session that is opened again has its options already
        await session.set_config_options([MODE, LOUD])
    await session.set_commands([GREET])


@agent.set_config_option
async def change(session: AgentSession, config_id: str, value: str | bool) -> None:
    if session.option("tone") == "curt" and session.option("loud"):
        raise InvalidParams("Curt and loud is too much")  # the old value is back
    await session.set_title(f"A {session.option('tone')} conversation")


@agent.prompt
async def reply(turn: Turn) -> None:
    command, _, name = turn.text.partition(" ")
    if command != "/greet":
        await turn.say("Try /greet.")
        return
    greeting = "Hey" if turn.session.option("tone") == "curt" else "Good day to you,"
    text = f"{greeting} {name or 'you'}"
    await turn.say(text.upper() if turn.session.option("loud") else text)


if __name__ == "__main__":
    agent.run()
