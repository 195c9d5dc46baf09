"""An engine of your own: what was replaced last is proposed at the next place that has it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from parley import Agent, nes
from parley.nes.engine import Change, Outcome


class AgainSession(nes.Predictor):
    old = new = ""

    def changed(self, document: nes.Document, changes: Sequence[Change]) -> None:
        self.old, self.new = changes[-1].old, changes[-1].new

    async def suggest(self, question: nes.Question) -> list[nes.Proposal]:
        uri = question.document.uri
        for line, text in enumerate(question.document.lines):
            if self.old and (at := text.find(self.old)) >= 0:
                span = nes.Span(nes.Spot(line, at), nes.Spot(line, at + len(self.old)))
                edits = (nes.TextEdit(span, self.new),)
                return [nes.EditProposal(uri=uri, edits=edits, score=0.8, rule="again")]
        return []

    def on_outcome(self, proposal: nes.Proposal, outcome: Outcome) -> None:
        self.old = "" if outcome == "rejected" else self.old


class Again:
    context = frozenset[str]()  # it needs nothing with a question but the document

    def options(self) -> Sequence[object]:
        return ()

    def begin(self, workspace: nes.Workspace) -> AgainSession:
        return AgainSession()


async def main() -> None:
    agent = Agent("again")
    nes.Suggestions(agent, Again())
    async with nes.NesClient.connect(agent) as editor:
        document = await editor.open("file:///shop.py", "python", "debug(1)\ndebug(2)\ndebug(3)\n")
        await editor.set_text(document.uri, document.text.replace("debug", "info", 1))
        while await editor.ask():
            await editor.accept()
    print(document.text, end="")


if __name__ == "__main__":
    asyncio.run(main())
