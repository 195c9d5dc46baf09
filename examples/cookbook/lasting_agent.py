"""An agent for the recipes: its sessions are on disk, and the prompt `crash` ends its process."""

import os
import sys

from parley import Agent, Turn
from parley.agent.journal_store import JournalStore
from parley.journal import SqliteJournal

agent = Agent("lasting", store=JournalStore(SqliteJournal(sys.argv[1])))


@agent.prompt
async def reply(turn: Turn) -> None:
    if turn.text == "crash":
        os._exit(3)
    prompts = [each.text for each in turn.session.transcript.messages if each.role == "user"]
    await turn.say(f"I know: {', '.join(prompts)}")


if __name__ == "__main__":
    agent.run()
