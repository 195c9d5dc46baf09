"""An agent whose sessions are in the user's journal: they survive it, whatever ends it."""

from parley import Agent, Turn
from parley.agent.journal_store import JournalStore

agent = Agent("diary", store=JournalStore())


@agent.prompt
async def reply(turn: Turn) -> None:
    days = turn.session.data.setdefault("days", [])
    async with turn.tool(f"Write down: {turn.text}", kind="edit") as call:
        if await turn.ask_permission(tool=call) != "allow":
            await turn.say("Then it is forgotten.")
            return
        days.append(turn.text)
    await turn.session.set_title(f"A diary of {len(days)} days")
    await turn.say(f"Day {len(days)}: {turn.text}")


if __name__ == "__main__":
    agent.run()
