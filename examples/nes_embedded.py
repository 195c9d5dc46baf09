"""The engine that needs no model, alone: no agent, no wire, only what was changed and what next."""

from __future__ import annotations

import asyncio

from parley.nes import Document, EditProposal, EmbeddedEngine, Question, Span, Spot, Workspace

TEXT = "log.debug(1)\nstart()\nlog.debug(2)\nwork()\nlog.debug(3)\nstop()\nlog.debug(4)\n"


async def main() -> None:
    session = EmbeddedEngine().begin(Workspace())  # with folders=[…] it knows the files there
    document = Document("file:///shop.py", "python", 1, TEXT)
    session.opened(document)
    await session.settled()  # it has read what there is to read
    for line in (0, 2):
        change = document.edit(Span(Spot(line, 4), Spot(line, 9)), "info")
        session.changed(document, [change])
    cursor = Spot(2, 8)
    while "debug" in document.text:
        question = Question(document=document.copy(), spot=cursor, trigger="manual")
        proposals = await session.suggest(question)
        if not proposals:
            break  # it has nothing more to say
        best = proposals[0]
        assert isinstance(best, EditProposal)  # the only kind that this question allows
        session.on_outcome(best, "accepted")
        for edit in reversed(best.edits):
            old = document.between(edit.span)
            session.changed(document, [document.edit(edit.span, edit.text)])
            cursor = edit.span.start
            print(f"line {cursor.line}: {old} -> {edit.text}")
    session.close()


if __name__ == "__main__":
    asyncio.run(main())
