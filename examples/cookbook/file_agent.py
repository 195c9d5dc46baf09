"""An agent for the recipes: `read notes.txt`, `edit notes.txt` and so on ask for permission."""

from pathlib import Path

from parley import Agent, Turn

agent = Agent("files")


@agent.prompt
async def work(turn: Turn) -> str | None:
    kind, _, path = turn.text.partition(" ")
    if kind == "refuse":
        return "refusal"
    location = str(Path(turn.session.cwd, path))
    async with turn.tool(f"{kind.title()} {path}", kind=kind, locations=[location]) as call:
        answer = await turn.ask_permission(tool=call)
    await turn.say(f"{kind} {path}: {'done' if answer == 'allow' else 'not allowed'}")
    return None


if __name__ == "__main__":
    agent.run()
