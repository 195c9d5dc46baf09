"""A Parley agent that makes suggestions; the TypeScript client starts it."""

from __future__ import annotations

import asyncio
import json

from parley import Agent
from parley.nes import (
    EditProposal,
    JumpProposal,
    Proposal,
    Question,
    RenameProposal,
    ReplaceProposal,
    Span,
    Spot,
    Suggestions,
    TextEdit,
)
from parley.nes.engine import Outcome
from parley.nes.serving import ServedSession

agent = Agent("interop-nes")
nes = Suggestions(agent)
told: list[str] = []


@nes.suggest
async def guess(session: ServedSession, question: Question) -> list[Proposal]:
    uri, text = question.document.uri, question.document.text
    end = question.document.end
    if text == "wait":
        await asyncio.Event().wait()
    said = json.dumps([text, *told]) if text == "report" else text.partition("\n")[0]
    edit = TextEdit(Span(end, end), said)
    return [
        EditProposal(uri=uri, edits=(edit,), cursor=question.spot, score=0.9, rule="test"),
        JumpProposal(uri=uri, spot=Spot(0, 1), score=0.8, rule="test"),
        RenameProposal(uri=uri, spot=Spot(0, 1), new_name="b", score=0.7),
        ReplaceProposal(uri=uri, search="a", replace="b", score=0.6, rule="test"),
    ]


@nes.accepted
async def took(session: ServedSession, proposal: Proposal) -> None:
    told.append(f"accepted {type(proposal).__name__}")


@nes.rejected
async def passed(session: ServedSession, proposal: Proposal, reason: Outcome) -> None:
    told.append(f"{reason} {type(proposal).__name__}")


if __name__ == "__main__":
    agent.run()
