"""What comes with a question, as far as an engine is told."""

from __future__ import annotations

from msgspec import structs

from parley.agent import Agent
from parley.nes import Question, Suggestions
from parley.nes.serving import ServedSession
from parley.schema import v2
from parley.schema.v2 import methods

from .test_serving import joined, open_text, question, start


async def test_no_more_recent_files_are_read_than_were_asked_for() -> None:
    agent = Agent("suggests")
    nes = Suggestions(agent, context=["recentFiles"])
    asked: list[Question] = []

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> None:
        asked.append(question)

    files = [
        v2.NesRecentFile(uri=f"file:///project/{n}.py", language_id="python", text="x\n")
        for n in range(100)
    ]
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "a\n")
        context = v2.NesSuggestContext(recent_files=files)
        await client.request(
            methods.SUGGEST_NES, structs.replace(question(session), context=context)
        )
    assert [each.uri for each in asked[0].recent] == [each.uri for each in files[:16]]
