"""An agent that suggests edits: a space behind each `#` that has none."""

from __future__ import annotations

from parley import Agent
from parley.nes import EditProposal, Proposal, Question, Span, Spot, Suggestions, TextEdit
from parley.nes.serving import ServedSession

agent = Agent("tidy", title="Tidy")
nes = Suggestions(agent)


@nes.suggest
async def guess(session: ServedSession, question: Question) -> list[Proposal]:
    uri = question.document.uri
    for number, line in enumerate(question.document.lines):
        at = line.find("#") + 1
        if at and line[at : at + 1].isalnum():
            space = TextEdit(Span(Spot(number, at), Spot(number, at)), " ")
            return [EditProposal(uri=uri, edits=(space,), score=0.9, rule="space")]
    return []


@nes.accepted
async def took(session: ServedSession, proposal: Proposal) -> None:
    session.data["taken"] = session.data.get("taken", 0) + 1


if __name__ == "__main__":
    agent.run()
